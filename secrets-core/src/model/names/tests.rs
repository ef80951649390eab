//! Tests of names.

use super::*;

#[test]
fn lower_case_does_not_merge_different_addresses() {
    let address = |text: &str| EmailAddress::try_from(text.to_owned()).unwrap();

    assert_eq!(address("Kate@Example.COM"), address("kate@example.com"));
    assert_ne!(address("\u{212a}ate@example.com"), address("kate@example.com"));
}

#[test]
fn a_name_can_be_seen() {
    for hidden in ['\u{ad}', '\u{61c}', '\u{200d}', '\u{2800}', '\u{3164}', '\u{e0041}'] {
        for text in [hidden.to_string(), format!("Web{hidden}API")] {
            assert!(DisplayName::try_from(text).is_err(), "{:?}", hidden.escape_unicode());
        }
    }
    for text in ["Café", "日本語", "❤\u{fe0f}"] {
        assert!(DisplayName::try_from(text.to_owned()).is_ok(), "{text}");
    }
}

#[test]
fn a_key_is_usable_as_a_variable_name() {
    for good in ["A", "_", "DATABASE_URL", "a.b-c", &"k".repeat(255)] {
        assert!(good.parse::<SecretKey>().is_ok(), "{good}");
    }
    for bad in
        ["", "1A", "-a", ".a", "A B", "A=B", "A;B", "É", "a/b", &"k".repeat(256), "export", "bulk"]
    {
        assert!(bad.parse::<SecretKey>().is_err(), "{bad}");
    }
}

#[test]
fn a_name_that_reads_as_a_uuid_is_refused_in_every_spelling() {
    for id in [
        "0190f1f3-7b1c-7000-8000-000000000000",
        "0190F1F3-7B1C-7000-8000-000000000000",
        "0190f1f37b1c70008000000000000000",
    ] {
        assert!(id.parse::<EnvironmentName>().is_err(), "{id}");
        assert!(id.to_lowercase().parse::<Slug>().is_err(), "{id}");
    }
}

#[test]
fn a_slug_is_made_of_the_letters_and_digits_of_a_name() {
    for (name, slug) in [("Web API", "web-api"), ("  --Ünï Ten! ", "n-ten"), ("日本", "project")]
    {
        assert_eq!(Slug::suggested(&name.parse().unwrap(), "project").as_str(), slug);
    }
}

#[test]
fn uuids_and_slugs_of_deleted_rows_are_reserved() {
    let slug = |name: &str| Slug::suggested(&name.parse().unwrap(), "project");
    let id = Uuid::from_u128(7);
    let deleted = Slug::of_deleted(id);

    for reserved in [id.to_string(), format!("Deleted {id}"), id.simple().to_string()] {
        assert!(slug(&reserved).is_reserved(), "{reserved}");
        assert!(!slug(&reserved).with_suffix([0; 4]).is_reserved(), "{reserved}");
    }
    assert!(deleted.is_reserved());
    assert_eq!(slug(&format!("deleted_{}", id.simple())), deleted);
    for free in ["deleted", "deleted-things", "web"] {
        assert!(!slug(free).is_reserved(), "{free}");
    }
}

#[test]
fn the_longest_slug_leaves_room_for_its_suffix() {
    let slug =
        Slug::suggested(&"x".repeat(100).parse().unwrap(), "project").with_suffix([0, 1, 2, 255]);

    assert_eq!(slug.as_str().len(), 64);
    assert!(slug.as_str().ends_with("-abcv"));
    assert!(slug.as_str().parse::<Slug>().is_ok());
}

#[test]
fn a_display_name_holds_nothing_that_cannot_be_seen() {
    assert_eq!("  Ops  ".parse::<DisplayName>().unwrap().as_str(), "Ops");
    for bad in ["", "   ", "a\nb", "a\u{202e}b", "a\u{200b}b", &"n".repeat(101)] {
        assert!(bad.parse::<DisplayName>().is_err(), "{bad:?}");
    }
}
