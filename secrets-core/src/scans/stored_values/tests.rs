use super::*;

fn stored(values: &[(&str, &str)]) -> StoredValues {
    let mut stored_values = StoredValues::new();
    let now = chrono::DateTime::from_timestamp(0, 0).unwrap();
    let place = (ProjectId::draw(now), EnvironmentId::draw(now));
    for (key, value) in values {
        if let Some(value) = comparable_part(value) {
            let hash = stored_values.hash(value);
            stored_values.place(hash, place, key);
        }
    }
    stored_values
}

#[test]
fn a_value_is_found_wherever_it_is_written_as_one() {
    let value = "kvc_p4ss:w=rd/9@x";
    let stored_values = stored(&[("KEY", value)]);

    for (before, after) in [
        ("", ""),
        ("  ", "\r\n"),
        ("KEY=", ""),
        ("export KEY='", "' # note"),
        ("key: \"", "\","),
        ("{\"key\":\"", "\"}"),
        ("curl -H 'X-Key: ", "' https://example.com"),
        ("call(", ")"),
        ("the key is ", "."),
        ("a=b:", ", c"),
        ("schlüssel = „x“ ", " …"),
    ] {
        let text = format!("first\n{before}{value}{after}\nlast");
        let found = stored_values.find_all(&text);

        assert_eq!(found.len(), 1, "{text}");
        assert_eq!(text[found[0].0.clone()], *value, "{text}");
        assert_eq!(found[0].1.key, "KEY");
    }
}

#[test]
fn a_password_is_found_within_an_address_and_a_value_with_spaces_on_its_line() {
    let stored_values =
        stored(&[("PASSWORD", "kvc_hunter42"), ("PHRASE", "kvc correct horse 7 battery")]);

    let found = stored_values.find_all(
        "postgres://app:kvc_hunter42@db/main\nPHRASE=\"kvc correct horse 7 battery\"\nkvc_hunter420",
    );

    let keys: Vec<_> = found.iter().map(|(_, place)| place.key.as_str()).collect();
    assert_eq!(keys, ["PASSWORD", "PHRASE"]);
}

#[test]
fn a_value_of_many_lines_is_known_by_its_longest() {
    let stored_values = stored(&[(
        "PEM",
        "-----BEGIN-----\nkvc_0123456789abcdefghijkl\nkvc_9876543210abcdefghijkl\n-----END-----",
    )]);

    assert_eq!(stored_values.find_all("  kvc_9876543210abcdefghijkl  ").len(), 1);
    assert_eq!(stored_values.find_all("  kvc_0123456789abcdefghijkl  ").len(), 0);
    assert!(stored_values.find_whole("x\nkvc_9876543210abcdefghijkl").is_some());
}

#[test]
fn common_values_are_not_compared() {
    let values = ["true", "1234567", "production", "postgres", "https://api.example.com/v1", "\n"];

    for value in values {
        assert_eq!(comparable_part(value), None, "{value}");
    }
    for value in ["kvc_1234", "aVeryLongWordedPhrase", "https://user:pw@example.com"] {
        assert_eq!(comparable_part(value), Some(value));
    }
}

#[test]
fn only_whole_values_are_found() {
    let stored_values = stored(&[("KEY", "kvc_12345678")]);

    assert_eq!(stored_values.find_all("xkvc_12345678 kvc_123456789 kvc_1234567").len(), 0);
}
