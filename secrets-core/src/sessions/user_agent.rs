//! Browser and operating system in a `User-Agent` header, for display in the list of sessions.

use crate::model::DisplayName;
use crate::model::names::is_invisible;

/// Product tokens of browsers in a `User-Agent` header, with the names of the browsers. The first
/// token in this list that the header contains is used, because most browsers also send the tokens
/// of browsers that they are compatible with.
const BROWSERS: [(&str, &str); 8] = [
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
];

/// Words in a `User-Agent` header that identify operating systems, with their names. The first word
/// in this list that the header contains is used, because Android also sends `Linux`.
const SYSTEMS: [(&str, &str); 7] = [
    ("Windows", "Windows"),
    ("Android", "Android"),
    ("iPhone", "iOS"),
    ("iPad", "iPadOS"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
];

/// Maximum number of characters that are shown of an unknown browser's `User-Agent` header.
const MAX_NAME: usize = 100;

/// Returns the names of the browser and the operating system; `None` if unknown. For an unknown
/// browser, returns the beginning of the header.
pub(super) fn read(header: &str) -> (Option<DisplayName>, Option<DisplayName>) {
    let find = |words: &[(&str, &'static str)]| {
        words.iter().find(|(word, _)| header.contains(word)).map(|(_, name)| *name)
    };
    let browser = find(&BROWSERS).map_or_else(|| cleaned(header), str::to_owned);
    let system = find(&SYSTEMS).unwrap_or_default();
    (browser.parse().ok(), system.parse().ok())
}

fn cleaned(header: &str) -> String {
    header.chars().filter(|c| !is_invisible(*c)).take(MAX_NAME).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_named_by_its_product_and_system() {
        for (header, expected) in [
            (
                "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36",
                ["Chrome", "Linux"],
            ),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36 Edg/141.0.0.0",
                ["Edge", "Windows"],
            ),
            (
                "Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:143.0) Gecko/20100101 Firefox/143.0",
                ["Firefox", "macOS"],
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1",
                ["Safari", "iOS"],
            ),
        ] {
            let (browser, system) = read(header);

            let names = [browser, system].map(|name| name.unwrap().to_string());
            assert_eq!(names, expected);
        }
    }

    #[test]
    fn an_unknown_browser_is_named_by_its_header() {
        let long = format!("curl/8.5.0\u{202e} {}", "x".repeat(500));

        let (browser, system) = read(&long);

        let browser = browser.unwrap().to_string();
        assert!(browser.starts_with("curl/8.5.0 x") && browser.chars().count() == MAX_NAME);
        assert_eq!(system, None);
        assert_eq!(read(" "), (None, None));
    }
}
