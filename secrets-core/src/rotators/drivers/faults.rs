//! Conversion of database error codes to [`Fault`].

use super::Who;
use crate::egress::DialError;
use crate::ports::rotator::{Fault, ServerCode, TargetError};

/// Stage of a call to a target database in which the server returned an error code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Login of this account (administrator or rotated user).
    Login(Who),
    /// SQL statement that this account (administrator or rotated user) runs.
    Work(Who),
}

impl Stage {
    fn rejected(self) -> Fault {
        match self {
            Self::Login(Who::Admin) => Fault::AdminRejected,
            Self::Login(Who::User) => Fault::LoginRejected,
            Self::Work(_) => self.denied(),
        }
    }

    fn denied(self) -> Fault {
        match self {
            Self::Login(Who::Admin) | Self::Work(Who::Admin) => Fault::Privilege,
            Self::Login(Who::User) | Self::Work(Who::User) => Fault::ProbeRefused,
        }
    }
}

/// Converts a PostgreSQL error code (SQLSTATE; PostgreSQL manual, appendix A) to a [`TargetError`].
pub(super) fn of_state(code: &str, stage: Stage) -> TargetError {
    let fault = match code {
        "28000" | "28P01" => stage.rejected(),
        "42501" | "0LP01" => stage.denied(),
        "3D000" => Fault::NoDatabase,
        // XX000: a concurrent session changed the same catalogue row first.
        "55P03" | "57014" | "55006" | "40001" | "40P01" | "25P03" | "XX000" => Fault::Busy,
        // The server is a read-only standby.
        "25006" | "55000" => Fault::Unreachable,
        "0A000" | "42601" | "42704" | "42883" => Fault::Unsupported,
        _ => match code.get(..2) {
            // Out of connections or memory, starting up, shutting down, system error.
            Some("08" | "53" | "57" | "58") => Fault::Unreachable,
            _ => Fault::Protocol,
        },
    };
    TargetError { fault, code: ServerCode::parse(code) }
}

/// Converts a MySQL or MariaDB error number to a [`TargetError`].
pub(super) fn of_number(number: u16, code: &str, stage: Stage) -> TargetError {
    let fault = match number {
        // Access denied; no password used; plugin not supported; account locked; password expired.
        1045 | 1251 | 1698 | 1820 | 1862 | 3118 | 3955 | 4151 => stage.rejected(),
        // Access denied to the database, statement, table or grant; or the user cannot be created.
        1044 | 1142 | 1143 | 1227 | 1396 | 1410 | 3619 | 3929 => stage.denied(),
        1049 => Fault::NoDatabase,
        1819 => Fault::PasswordPolicy,
        1205 | 1213 | 1317 | 1969 | 3024 | 3572 => Fault::Busy,
        // Too many connections, host not allowed, shutting down, read-only.
        1040 | 1053 | 1129 | 1130 | 1158..=1161 | 1203 | 1226 | 1290 | 1836 | 3032 => {
            Fault::Unreachable
        }
        1064 | 1193 | 1235 | 1289 => Fault::Unsupported,
        _ => Fault::Protocol,
    };
    TargetError { fault, code: ServerCode::parse(code) }
}

impl From<DialError> for TargetError {
    fn from(refused: DialError) -> Self {
        Self::of(match refused {
            DialError::Unreachable => Fault::Unreachable,
            DialError::Unresolved => Fault::Unresolved,
            DialError::NotAllowed => Fault::NotAllowed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_of_administrator_and_user_differ() {
        for (who, login, work) in [
            (Who::Admin, Fault::AdminRejected, Fault::Privilege),
            (Who::User, Fault::LoginRejected, Fault::ProbeRefused),
        ] {
            assert_eq!(of_state("28P01", Stage::Login(who)).fault, login);
            assert_eq!(of_number(1045, "28000", Stage::Login(who)).fault, login);
            assert_eq!(of_state("42501", Stage::Work(who)).fault, work);
            assert_eq!(of_number(1142, "42000", Stage::Work(who)).fault, work);
        }
    }

    #[test]
    fn error_codes_are_mapped_as_the_manuals_define_them() {
        let state = |state| of_state(state, Stage::Work(Who::Admin)).fault;
        let number = |number| of_number(number, "HY000", Stage::Work(Who::Admin)).fault;

        for (found, fault) in [
            (state("3D000"), Fault::NoDatabase),
            (state("55P03"), Fault::Busy),
            (state("57014"), Fault::Busy),
            (state("53300"), Fault::Unreachable),
            (state("57P03"), Fault::Unreachable),
            (state("42883"), Fault::Unsupported),
            (state("é"), Fault::Protocol),
            (state(""), Fault::Protocol),
            (number(1049), Fault::NoDatabase),
            (number(1819), Fault::PasswordPolicy),
            (number(1410), Fault::Privilege),
            (number(1205), Fault::Busy),
            (number(1040), Fault::Unreachable),
            (number(65_535), Fault::Protocol),
        ] {
            assert_eq!(found, fault);
        }
    }
}
