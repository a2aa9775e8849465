//! The files of packagers: the Makefile, and the metadata of the Debian package and for cargo-binstall.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use git_ralph::tables::bundled_files;

use super::source;
use crate::support::{Sandbox, print};

#[test]
fn make_installs_all_files_and_removes_them() {
    if !crate::installed("make") {
        return;
    }
    let sandbox = Sandbox::empty();
    let root = sandbox.outside("a root");
    let destination = format!("DESTDIR={}", root.display());
    let program = format!("PROGRAM={}", env!("CARGO_BIN_EXE_git-ralph"));
    let make = |target: &str| {
        let words = ["-s", target, &destination, "PREFIX=/usr", &program];
        sandbox.cmd("make").args(words).dir(source()).run().exits(0)
    };
    make("install");
    for (place, text) in bundled_files() {
        let path = root.join("usr/share").join(&place);
        assert_eq!(fs::read_to_string(&path).unwrap(), text, "{}", path.display());
    }
    let version = sandbox.cmd(root.join("usr/bin/git-ralph").to_str().unwrap());
    let version = version.args(["--version"]).dir(&root).run().exits(0);
    assert!(version.stdout.contains(env!("CARGO_PKG_VERSION")));
    assert_eq!(print::mtimes(&root).len(), bundled_files().len() + 1);
    make("uninstall");
    assert_eq!(print::mtimes(&root).len(), 0);
}

#[test]
fn binstall_looks_for_the_tarballs_of_the_release() {
    let manifest = manifest();
    let wanted = &manifest["package"]["metadata"]["binstall"];
    let place = |name: &str| {
        wanted[name]
            .as_str()
            .unwrap()
            .replace("{ ", "{")
            .replace(" }", "}")
    };
    // packaging/build names them, and the folder in each.
    let build = fs::read_to_string(source().join("packaging/build")).unwrap();
    let (_, tarball) = build.split_once("def build_tarball(").unwrap();
    let (_, named) = tarball.split_once("name = f\"").unwrap();
    let (name, rest) = named.split_once('"').unwrap();
    assert!(rest.contains("copy(program, directory / \"bin\")"), "{rest}");
    assert!(
        rest.contains("archive(DIST / f\"{name}.tar.gz\", name, "),
        "{rest}"
    );
    assert_eq!(place("bin-dir"), format!("{name}/bin/{{bin}}{{binary-ext}}"));
    // The workflow uploads them to the release of the tag.
    let workflow = fs::read_to_string(source().join(".github/workflows/release.yml")).unwrap();
    assert!(workflow.contains("tags: [\"v*\"]"), "{workflow}");
    assert_eq!(
        place("pkg-url"),
        format!("{{repo}}/releases/download/v{{version}}/{name}.tar.gz")
    );
    assert_eq!(place("pkg-fmt"), "tgz");
}

fn manifest() -> toml::Table {
    let text = fs::read_to_string(source().join("Cargo.toml")).unwrap();
    text.parse().unwrap()
}

#[test]
fn the_debian_package_has_all_that_an_installation_has() {
    let manifest = manifest();
    let assets = manifest["package"]["metadata"]["deb"]["assets"]
        .as_array()
        .unwrap();
    let mut placed: BTreeSet<PathBuf> = BTreeSet::new();
    for asset in assets {
        let [from, to, _mode] = asset.as_array().unwrap().as_slice() else {
            panic!("{asset}");
        };
        let (from, to) = (from.as_str().unwrap(), to.as_str().unwrap());
        let sources = match from.split_once('*') {
            Some((dir, end)) => fs::read_dir(source().join(dir))
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .filter(|path| path.to_str().unwrap().ends_with(end))
                .collect(),
            None => vec![source().join(from)],
        };
        assert!(!sources.is_empty(), "{from}");
        for path in sources {
            assert!(path.exists() || from.starts_with("target/"), "{from}");
            placed.insert(match to.strip_suffix('/') {
                Some(dir) => Path::new(dir).join(path.file_name().unwrap()),
                None => PathBuf::from(to),
            });
        }
    }
    assert!(placed.contains(Path::new("usr/bin/git-ralph")));
    for (place, _) in bundled_files() {
        // Debian's zsh looks elsewhere.
        let place = match place.strip_prefix("zsh/site-functions") {
            Ok(name) => Path::new("zsh/vendor-completions").join(name),
            Err(_) => place,
        };
        let place = Path::new("usr/share").join(place);
        assert!(placed.contains(&place), "no asset becomes {}", place.display());
    }
}
