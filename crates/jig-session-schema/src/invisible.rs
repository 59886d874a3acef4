//! The one table of characters that a foreign text may hold and that nobody sees: controls, separators of lines,
//! bidirectional controls, characters without width, tags. Some of them steer a terminal, others hide text in it.

/// First and last of every range, in order. From the Unicode properties: the general categories Cc, Cf, Zl and Zp, and
/// what is `Default_Ignorable_Code_Point`; without the marks that are written before a number and seen
/// (`Prepended_Concatenation_Mark`), and without the two selectors that choose between the forms of an emoji.
pub const INVISIBLE: [(u32, u32); 20] = [
    (0x0, 0x1f),
    (0x7f, 0x9f),
    (0xad, 0xad),
    (0x34f, 0x34f),
    (0x61c, 0x61c),
    (0x115f, 0x1160),
    (0x17b4, 0x17b5),
    (0x180b, 0x180f),
    (0x200b, 0x200f),
    (0x2028, 0x202e),
    (0x2060, 0x206f),
    (0x3164, 0x3164),
    (0xfe00, 0xfe0d),
    (0xfeff, 0xfeff),
    (0xffa0, 0xffa0),
    (0xfff0, 0xfffb),
    (0x13430, 0x1343f),
    (0x1bca0, 0x1bca3),
    (0x1d173, 0x1d17a),
    (0xe0000, 0xe0fff),
];

/// The selectors of a character's text and emoji form (U+FE0E, U+FE0F): every other text with emoji holds them.
#[cfg(test)]
const EMOJI_FORMS: [char; 2] = ['\u{fe0e}', '\u{fe0f}'];

/// Whether a character is one that nobody sees. Blanks and line ends of a text are controls too, but for U+0020.
#[must_use]
pub fn is_invisible(character: char) -> bool {
    let code = u32::from(character);
    // Nearly all text is below the first range that is no control.
    if code < 0xad {
        return code < 0x20 || (0x7f..0xa0).contains(&code);
    }
    let after = INVISIBLE.partition_point(|(first, _)| *first <= code);
    after > 0 && code <= INVISIBLE[after - 1].1
}

#[cfg(test)]
mod tests {
    use icu_properties::props::{DefaultIgnorableCodePoint, GeneralCategory, PrependedConcatenationMark};
    use icu_properties::{CodePointMapData, CodePointSetData};

    use super::*;

    /// What the Unicode properties say.
    fn by_property(character: char) -> bool {
        let category = CodePointMapData::<GeneralCategory>::new().get(character);
        let unseen = matches!(
            category,
            GeneralCategory::Control
                | GeneralCategory::Format
                | GeneralCategory::LineSeparator
                | GeneralCategory::ParagraphSeparator
        );
        let ignorable = CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(character);
        let seen = CodePointSetData::new::<PrependedConcatenationMark>().contains(character);
        (unseen || ignorable) && !seen && !EMOJI_FORMS.contains(&character)
    }

    #[test]
    fn the_table_is_that_of_the_unicode_properties() {
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for character in ('\0'..=char::MAX).filter(|character| by_property(*character)) {
            let code = u32::from(character);
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == code => *last = code,
                _ => ranges.push((code, code)),
            }
        }
        assert_eq!(INVISIBLE.as_slice(), ranges, "{ranges:#x?}");
        for character in '\0'..=char::MAX {
            assert_eq!(is_invisible(character), by_property(character), "{:x}", u32::from(character));
        }
    }

    #[test]
    fn what_people_write_is_seen() {
        for text in ["a B", "é ñ ü", "日本語", "한국어", "العربية", "עברית", "हिन्दी", "❤️", "☎︎", "\u{e0b0}", "e\u{301}"]
        {
            assert!(!text.chars().any(is_invisible), "{text}");
        }
        for character in
            ['\t', '\u{1b}', '\u{9b}', '\u{ad}', '\u{202e}', '\u{200b}', '\u{3164}', '\u{fe00}', '\u{e0100}']
        {
            assert!(is_invisible(character), "{:x}", u32::from(character));
        }
    }
}
