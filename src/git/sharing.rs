//! The permissions of files in a repository (`core.sharedRepository`), as git sets them on new files.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;

use crate::fs::umask_now;

/// The rule of a repository.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    /// Unknown: the configuration was not read, or git refuses the value.
    Unknown,
    /// The permissions under the umask, without the setting.
    #[default]
    Umask,
    /// At least these permissions.
    AtLeast(u32),
    /// Exactly these permissions, independent of the umask.
    Exactly(u32),
}

impl Sharing {
    /// Parses the value of the setting; a missing value means `true`.
    pub fn parse(value: &str) -> Self {
        match value.to_ascii_lowercase().as_str() {
            "umask" | "false" | "no" | "off" | "0" => Self::Umask,
            "group" | "true" | "yes" | "on" | "1" | "" => Self::AtLeast(0o660),
            "all" | "world" | "everybody" | "2" => Self::AtLeast(0o664),
            value => match u32::from_str_radix(value, 8) {
                Ok(0) => Self::Umask,
                Ok(mode) if mode & 0o600 == 0o600 => Self::Exactly(mode & 0o666),
                _ => Self::Unknown,
            },
        }
    }

    /// Returns the permissions of a new file.
    pub fn file_mode(self) -> u32 {
        self.applied_to(0o666 & !umask_now())
    }

    /// Gives an open file, which was created under the umask, the permissions of this rule.
    pub fn apply(self, file: &File) -> io::Result<()> {
        let mode = file.metadata()?.permissions().mode() & 0o777;
        match self.applied_to(mode) {
            same if same == mode => Ok(()),
            other => file.set_permissions(Permissions::from_mode(other)),
        }
    }

    fn applied_to(self, mode: u32) -> u32 {
        match self {
            Self::Unknown | Self::Umask => mode,
            Self::AtLeast(bits) => mode | bits,
            Self::Exactly(bits) => bits,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_git_reads_them() {
        for (values, rule) in [
            (["umask", "false", "0", "00"], Sharing::Umask),
            (["group", "true", "1", "Yes"], Sharing::AtLeast(0o660)),
            (["all", "world", "everybody", "2"], Sharing::AtLeast(0o664)),
            (["0660", "660", "0661", "0770"], Sharing::Exactly(0o660)),
            (["0640", "640", "0641", "0751"], Sharing::Exactly(0o640)),
            (["nonsense", "0440", "9", "-1"], Sharing::Unknown),
        ] {
            for value in values {
                assert_eq!(Sharing::parse(value), rule, "{value}");
            }
        }
        assert_eq!(Sharing::AtLeast(0o660).applied_to(0o600), 0o660);
        assert_eq!(Sharing::AtLeast(0o660).applied_to(0o644), 0o664);
        assert_eq!(Sharing::Exactly(0o640).applied_to(0o664), 0o640);
    }
}
