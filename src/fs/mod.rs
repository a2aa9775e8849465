//! Plain files: writes and copies that are complete or absent, permissions, and errors that name the file.
//!
//! Outside of this directory, no code changes files by a path alone (`clippy.toml`): a change goes through a handle,
//! [`Below`], whose directory limits its reach. Nor does any code check files without a choice about errors:
//! [`kind_of`], [`target_of`] and the like pass an error on, `may_…` functions treat it as an existing file, and
//! `seen…` functions as a missing one.
#![expect(
    clippy::disallowed_methods,
    reason = "here is the door that the other modules have to go through"
)]

mod access;
mod below;
mod error;
mod long;
mod looking;
mod moving;
mod named;
mod place;
mod reading;

pub use access::{lacks, umask_now};
pub use below::Below;
pub use error::{Durability, FileError, MAKE_ROOM, file_error, owned_by_another, system_words};
pub use looking::{
    entries_of, is_directory, is_file_or_link, is_regular, is_seen_as_file, is_special, is_there, kind_of,
    leads_to_file, link_of, may_be_there, may_be_written, may_exist, path_below, seen, seen_in, seen_itself,
    target_of, those_where,
};
pub use named::{append_named, make_named_dir, remove_named, remove_named_dir, write_named, write_through};
pub use place::{TEMPORARY, is_absent};
pub use reading::{
    Links, has_other_names, has_same_bytes, is_no_such_file, open_regular, read, read_if_there, read_regular,
    read_regular_text, regular_text_if_there, seen_bytes, seen_text,
};

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    #[test]
    fn only_regular_files_are_read_and_written() {
        let temp = tempfile::tempdir().unwrap();
        let (at, below) = (|name: &str| temp.path().join(name), Below::new(temp.path()));
        fs::write(at("file"), "12345").unwrap();
        symlink(at("file"), at("link")).unwrap();
        symlink("/dev/zero", at("device")).unwrap();
        mkfifo(&at("pipe"), Mode::S_IRWXU).unwrap();
        fs::create_dir(at("dir")).unwrap();
        let read = |name: &str, links| read_regular(&at(name), links, 5).map_err(|error| error.to_string());
        let refused = Err("it is not a regular file".to_owned());
        for links in [Links::Refused, Links::Followed] {
            assert_eq!(read("file", links), Ok(b"12345".to_vec()));
            for name in ["device", "pipe", "dir"] {
                assert_eq!(read(name, links), refused, "{name}");
            }
        }
        assert_eq!(read("link", Links::Refused), refused);
        assert_eq!(read("link", Links::Followed), Ok(b"12345".to_vec()));
        assert!(read_regular(&at("file"), Links::Refused, 4).is_err());
        let none = read_regular(&at("none"), Links::Refused, 4).unwrap_err();
        assert_eq!(none.kind(), io::ErrorKind::NotFound);
        for name in ["link", "pipe", "device"] {
            below.append(Path::new(name), b"6").unwrap_err();
        }
        below.append(Path::new("file"), b"6").unwrap();
        assert_eq!(fs::read_to_string(at("file")).unwrap(), "123456");
        for name in ["link", "pipe", "device"] {
            below.write_private(Path::new(name), "7").unwrap();
            assert_eq!(fs::read_to_string(at(name)).unwrap(), "7");
        }
        assert_eq!(fs::read_to_string(at("file")).unwrap(), "123456");
    }
}
