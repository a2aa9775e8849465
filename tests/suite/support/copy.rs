//! A directory tree in memory: taken once, written as often as wanted.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A tree with modes, links and modification times.
#[derive(Debug)]
pub struct Copy(Vec<(PathBuf, Node)>);

#[derive(Debug)]
enum Node {
    /// With permissions that let us write in it.
    Dir(fs::Permissions),
    Link(PathBuf),
    File(Vec<u8>, fs::Permissions, SystemTime),
}

impl Copy {
    /// Takes the tree below `top`.
    pub fn of(top: &Path) -> Self {
        let permissions = top.metadata().unwrap().permissions();
        let mut nodes = vec![(PathBuf::new(), Node::Dir(permissions))];
        let mut next = 0;
        while let Some((dir, node)) = nodes.get(next) {
            next += 1;
            if !matches!(node, Node::Dir(_)) {
                continue;
            }
            let dir = dir.clone();
            for entry in fs::read_dir(top.join(&dir)).unwrap() {
                let entry = entry.unwrap();
                let (path, metadata) = (entry.path(), entry.metadata().unwrap());
                let node = if metadata.is_dir() {
                    Node::Dir(metadata.permissions())
                } else if metadata.is_symlink() {
                    Node::Link(fs::read_link(&path).unwrap())
                } else {
                    let modified = metadata.modified().unwrap();
                    Node::File(fs::read(&path).unwrap(), metadata.permissions(), modified)
                };
                nodes.push((dir.join(entry.file_name()), node));
            }
        }
        Self(nodes)
    }

    /// Writes it to `top`, which does not exist yet.
    pub fn write(&self, top: &Path) {
        for (path, node) in &self.0 {
            let path = top.join(path);
            match node {
                Node::Dir(permissions) => {
                    fs::create_dir(&path).unwrap();
                    fs::set_permissions(&path, permissions.clone()).unwrap();
                }
                Node::Link(target) => symlink(target, &path).unwrap(),
                Node::File(content, permissions, modified) => {
                    let file = fs::File::create(&path).unwrap();
                    std::io::Write::write_all(&mut &file, content).unwrap();
                    file.set_permissions(permissions.clone()).unwrap();
                    file.set_modified(*modified).unwrap();
                }
            }
        }
    }
}
