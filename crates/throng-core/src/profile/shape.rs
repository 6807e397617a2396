//! Shape of a text, without the text itself.

/// Maximum length that is recorded.
const LONGEST: usize = 255;

/// Set of properties of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextShape {
    flags: u8,
    characters: u8,
}

impl TextShape {
    /// Only digits.
    pub const DIGITS: Self = Self { flags: 1, characters: 0 };
    /// Upper-case letters, digits and `-./`, with at least one digit: a code.
    pub const CODE: Self = Self { flags: 2, characters: 0 };
    /// An e-mail address.
    pub const EMAIL: Self = Self { flags: 4, characters: 0 };
    /// Starts with a date such as 2024-02-29.
    pub const DATE: Self = Self { flags: 8, characters: 0 };
    /// An IP address.
    pub const IP: Self = Self { flags: 16, characters: 0 };
    /// A long random hexadecimal number, such as a UUID.
    pub const TOKEN: Self = Self { flags: 32, characters: 0 };
    /// Several words.
    pub const WORDS: Self = Self { flags: 64, characters: 0 };

    /// Computes the shape of a text.
    pub(super) fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let is_digits = !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit);
        let is_code = bytes.iter().any(u8::is_ascii_digit)
            && bytes.iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b"-./".contains(b));
        let is_email = text
            .split_once('@')
            .is_some_and(|(name, host)| !name.is_empty() && host.contains('.') && !text.contains(char::is_whitespace));
        let flags = [
            (Self::DIGITS, is_digits),
            (Self::CODE, is_code),
            (Self::EMAIL, is_email),
            (Self::DATE, is_date(bytes)),
            (Self::IP, text.parse::<std::net::IpAddr>().is_ok()),
            (Self::TOKEN, is_token(bytes)),
            (Self::WORDS, text.split_whitespace().nth(1).is_some()),
        ];
        let flags = flags.into_iter().filter(|(_, holds)| *holds).fold(0, |all, (shape, _)| all | shape.flags);
        Self { flags, characters: text.chars().take(LONGEST).count() as u8 }
    }

    /// Returns whether the text has all properties of `shape`.
    pub(super) fn has(self, shape: Self) -> bool {
        self.flags & shape.flags == shape.flags
    }

    pub(super) fn characters(self) -> usize {
        self.characters.into()
    }
}

fn is_date(bytes: &[u8]) -> bool {
    let is_digit = |place: usize| bytes.get(place).is_some_and(u8::is_ascii_digit);
    let is_dash = |place: usize| bytes.get(place) == Some(&b'-');
    [0, 1, 2, 3, 5, 6, 8, 9].into_iter().all(is_digit) && is_dash(4) && is_dash(7)
}

/// Returns whether the text is at least sixteen hexadecimal digits, both letters and numbers, with nothing else but
/// dashes.
fn is_token(bytes: &[u8]) -> bool {
    let digits = bytes.iter().filter(|b| b.is_ascii_hexdigit()).count();
    let dashes = bytes.iter().filter(|b| **b == b'-').count();
    let is_mixed = bytes.iter().any(u8::is_ascii_digit) && bytes.iter().any(u8::is_ascii_alphabetic);
    digits >= 16 && digits + dashes == bytes.len() && is_mixed
}
