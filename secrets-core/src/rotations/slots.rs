//! Names and passwords of the two database users of a rotation.

use crate::crypto::{Plaintext, random};
use crate::model::RotationId;
use crate::model::rotations::Slot;

/// Length of a generated password in characters. Gives 192 bits of entropy.
const PASSWORD_LENGTH: usize = 32;

/// Characters of generated passwords. None of them needs quoting in SQL, a URL, a `.env` file, YAML
/// or a shell; `-` and `_` satisfy policies that require a special character.
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";

/// Returns the name of one of the two database users (slots) of a rotation: at most 21 bytes (MySQL
/// allows 32).
#[must_use]
pub fn slot_user(rotation: RotationId, slot: Slot) -> String {
    format!("kv_{}_{}", short(rotation), slot.as_str())
}

/// Returns the names of both database users of a rotation.
pub(crate) fn slot_users(rotation: RotationId) -> [String; 2] {
    [Slot::A, Slot::B].map(|slot| slot_user(rotation, slot))
}

/// Returns the name of the database role that holds the privileges of both database users of a
/// rotation.
#[must_use]
pub fn group_role(rotation: RotationId) -> String {
    format!("kv_{}_g", short(rotation))
}

/// Returns a short string that identifies the rotation: the last ten bytes of its ID (random except
/// for two bits), in base 32.
fn short(rotation: RotationId) -> String {
    const DIGITS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let number = rotation.uuid().as_u128();
    let digit = |place: u32| {
        let index = usize::try_from(number >> (place * 5) & 31).unwrap_or_default();
        char::from(DIGITS[index])
    };
    (0..16).rev().map(digit).collect()
}

/// Generates a random password: 32 characters, with at least one of each character class that
/// password policies require.
#[must_use]
pub fn draw_password() -> Plaintext {
    loop {
        // The alphabet has 64 characters, so six bits of a byte select a character without bias.
        let bytes = zeroize::Zeroizing::new(random::<PASSWORD_LENGTH>());
        let text = bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte & 63)]));
        let text: String = text.collect();
        if has_every_class(&text)
            && let Ok(password) = Plaintext::new(text)
        {
            return password;
        }
    }
}

/// True if a password contains an upper-case letter, a lower-case letter, a digit, and `-` or `_`.
fn has_every_class(password: &str) -> bool {
    let has = |class: fn(&char) -> bool| password.chars().any(|c| class(&c));
    has(char::is_ascii_uppercase)
        && has(char::is_ascii_lowercase)
        && has(char::is_ascii_digit)
        && has(|c| matches!(c, '_' | '-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_of_a_rotation_have_names_that_every_target_takes() {
        let rotation = RotationId::from(uuid::Uuid::from_u128(u128::MAX));
        let [a, b] = [Slot::A, Slot::B].map(|slot| slot_user(rotation, slot));

        assert_eq!(a, "kv_7777777777777777_a");
        assert_eq!(b, "kv_7777777777777777_b");
        assert_eq!(group_role(rotation), "kv_7777777777777777_g");
        assert_eq!(
            slot_user(RotationId::from(uuid::Uuid::nil()), Slot::A),
            "kv_aaaaaaaaaaaaaaaa_a"
        );
    }

    #[test]
    fn a_name_has_the_last_ten_bytes_of_the_id_in_base32() {
        let id = uuid::Uuid::from_u128(0x0011_2233_4455_6677_8899_aabb_ccdd_eeff);

        assert_eq!(slot_user(id.into(), Slot::A), "kv_mz3yrgnkxpgn33x7_a");
    }

    #[test]
    fn a_password_lacks_no_class() {
        for (password, has_all) in [
            ("aA1_", true),
            ("aA1-", true),
            ("a11_", false),
            ("AA1_", false),
            ("aAA_", false),
            ("aA11", false),
        ] {
            assert_eq!(has_every_class(password), has_all, "{password}");
        }
    }

    #[test]
    fn a_password_has_every_class_and_needs_no_quoting() {
        for _ in 0..1_000 {
            let password = draw_password();
            let text = password.reveal();
            assert_eq!(text.len(), PASSWORD_LENGTH);
            assert!(text.bytes().all(|byte| ALPHABET.contains(&byte)));
            assert!(has_every_class(text));
        }
    }
}
