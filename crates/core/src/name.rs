//! Finding names in any letter case.

use caseless::Caseless as _;
use unicode_normalization::UnicodeNormalization as _;

/// A name without letter case, by the rules of Unicode for caseless matching: normalised before, because folding depends
/// on it, and after, because folding can undo it.
pub fn fold(name: &str) -> String {
    name.chars().nfd().default_case_fold().nfc().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_fold_by_unicode_not_by_ascii() {
        assert_eq!(fold("Hello"), "hello");
        assert_eq!(fold("STRASSE"), fold("Straße"));
        assert_eq!(fold("ΣΊΣΥΦΟΣ"), fold("σίσυφος"));
        // The same letter composed and decomposed.
        assert_eq!(fold("Zo\u{eb}"), fold("ZOE\u{308}"));
        assert_ne!(fold("İ"), fold("ı"));
    }

    proptest! {
        #[test]
        fn however_it_is_written_a_name_folds_to_the_same(name in "\\PC{0,12}") {
            prop_assert_eq!(fold(&name.nfd().collect::<String>()), fold(&name));
            prop_assert_eq!(fold(&name.nfc().collect::<String>()), fold(&name));
        }
    }
}
