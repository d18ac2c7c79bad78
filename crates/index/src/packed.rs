//! Ids in fewer bytes: what most games use as an id is a number written out.
//!
//! A text has exactly one packed form and a packed form exactly one text, so packed ids are equal when the texts are.
//! Their order is another matter: the standing orders ties by the bytes of the text, and `10` comes before `9`.

use std::{
    cmp::Ordering,
    hash::{BuildHasher as _, RandomState},
    sync::LazyLock,
};

use rapidhash::v3::RapidSecrets;

use super::mem::hex_of_sixteen;
use standings_core::limits::PLAYER_ID_BYTES;

/// How an id is packed, and into how many bytes. One byte, so that a leaf of mixed ids can hold one for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form(pub(super) u8);

// Forms 0..=63 are lower-case hex of 1 to 64 packed bytes, 64..=191 are plain texts of 1 to 128 bytes.
const HEX: u8 = 0;
const TEXT: u8 = 64;
/// 8-4-4-4-12 lower-case hex digits: 16 bytes.
const UUID: Form = Form(192);
/// A decimal number below 2^32, without leading zeros: 4 bytes, most significant first.
const SMALL: Form = Form(193);
/// A decimal number from 2^32 on that fits 64 bits: 8 bytes.
const LARGE: Form = Form(194);

impl Form {
    /// The packed length in bytes.
    #[inline]
    pub(super) fn bytes(self) -> usize {
        match self.0 {
            hex @ HEX..TEXT => usize::from(hex) + 1,
            text @ TEXT..192 => usize::from(text - TEXT) + 1,
            192 => 16,
            193 => 4,
            _ => 8,
        }
    }

    /// Whether packed ids of this form sort as their texts do.
    fn keeps_order(self) -> bool {
        self.0 <= UUID.0
    }
}

/// A packed id, borrowed from a leaf, from a [`Buffer`], or from the text itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packed<'a> {
    pub(super) form: Form,
    pub(super) bytes: &'a [u8],
}

/// Room to pack one id, or to unpack one.
#[derive(Clone)]
pub(super) struct Buffer([u8; PLAYER_ID_BYTES]);

impl Buffer {
    pub(super) const fn new() -> Self {
        Self([0; PLAYER_ID_BYTES])
    }
}

impl<'a> Packed<'a> {
    /// Packs a text of 1 to 128 bytes.
    pub(super) fn new(id: &'a str, buffer: &'a mut Buffer) -> Self {
        let text = id.as_bytes();
        assert!((1..=PLAYER_ID_BYTES).contains(&text.len()), "a player id is 1 to 128 bytes");
        let buffer = &mut buffer.0;
        if let Some(number) = decimal(text) {
            return if let Ok(small) = u32::try_from(number) {
                buffer[..4].copy_from_slice(&small.to_be_bytes());
                Self { form: SMALL, bytes: &buffer[..4] }
            } else {
                buffer[..8].copy_from_slice(&number.to_be_bytes());
                Self { form: LARGE, bytes: &buffer[..8] }
            };
        }
        if text.len().is_multiple_of(2) && hex(text, buffer) {
            let bytes = &buffer[..text.len() / 2];
            return Self { form: Form(HEX + (length_code(bytes))), bytes };
        }
        if text.len() == 36 && uuid(text, buffer) {
            return Self { form: UUID, bytes: &buffer[..16] };
        }
        Self { form: Form(TEXT + length_code(text)), bytes: text }
    }

    /// The text.
    pub(super) fn unpack<'b>(self, buffer: &'b mut Buffer) -> &'b str
    where
        'a: 'b,
    {
        let out = &mut buffer.0;
        let length = match self.form {
            Form(HEX..TEXT) => {
                write_hex(self.bytes, out);
                self.bytes.len() * 2
            }
            UUID => {
                let mut digits = [0; 32];
                write_hex(self.bytes, &mut digits);
                for (range, from) in UUID_DIGITS {
                    out[range.0..range.1].copy_from_slice(&digits[from..from + range.1 - range.0]);
                }
                for dash in [8, 13, 18, 23] {
                    out[dash] = b'-';
                }
                36
            }
            SMALL | LARGE => write_decimal(self.bytes, out),
            _ => return std::str::from_utf8(self.bytes).expect("texts went in as UTF-8"),
        };
        std::str::from_utf8(&out[..length]).expect("digits are ASCII")
    }

    /// The order of the texts.
    pub(super) fn cmp_text(self, other: Packed<'_>) -> Ordering {
        if self.form == other.form && self.form.keeps_order() {
            return self.bytes.cmp(other.bytes);
        }
        let (mut a, mut b) = (Buffer::new(), Buffer::new());
        self.unpack(&mut a).as_bytes().cmp(other.unpack(&mut b).as_bytes())
    }

    /// A hash of the id, another in every process: whoever could tell it would choose ids that all fall into one shard of the
    /// locator, which stays right then, and gets slow.
    #[inline]
    pub(super) fn hash(self) -> u64 {
        rapidhash::v3::rapidhash_v3_nano_inline::<true, false>(self.bytes, &SECRETS)
            ^ u64::from(self.form.0).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

static SECRETS: LazyLock<RapidSecrets> = LazyLock::new(|| {
    // Tests of what memory it takes are to say the same every time.
    let seed = if cfg!(test) { 0x5374_616e_6469_6e67 } else { RandomState::new().hash_one(()) };
    RapidSecrets::seed(seed)
});

fn length_code(bytes: &[u8]) -> u8 {
    u8::try_from(bytes.len() - 1).expect("at most 128 bytes")
}

/// The number, if this is how it is written.
#[inline]
fn decimal(text: &[u8]) -> Option<u64> {
    if text.len() > 20 || text[0] == b'0' && text.len() > 1 {
        return None;
    }
    let mut number = 0_u64;
    for &digit in text {
        if !digit.is_ascii_digit() {
            return None;
        }
        number = number.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
    }
    Some(number)
}

/// The value of each lower-case hex digit, 255 for what is none.
const DIGIT: [u8; 256] = {
    let mut table = [255; 256];
    let mut value = 0_u8;
    while value < 16 {
        table[HEX_DIGITS[value as usize] as usize] = value;
        value += 1;
    }
    table
};
const HEX_DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Packs an even number of digits; whether all are lower-case hex.
#[inline]
fn hex(text: &[u8], out: &mut [u8]) -> bool {
    let (sixteens, _) = text.as_chunks::<16>();
    let Some(last) = text.last_chunk::<16>() else { return short_hex(text, out) };
    for (sixteen, eight) in sixteens.iter().zip(out.as_chunks_mut::<8>().0) {
        let Some(packed) = hex_of_sixteen(sixteen) else { return false };
        *eight = packed;
    }
    // Those at the end once more where they are no sixteen of their own.
    let Some(packed) = hex_of_sixteen(last) else { return false };
    out[text.len() / 2 - 8..][..8].copy_from_slice(&packed);
    true
}

/// The same with less than sixteen.
fn short_hex(text: &[u8], out: &mut [u8]) -> bool {
    let (eights, rest) = text.as_chunks::<8>();
    let (fours, out_rest) = out.split_at_mut(4 * eights.len());
    for (eight, four) in eights.iter().zip(fours.as_chunks_mut::<4>().0) {
        let Some(packed) = hex_of_eight(*eight) else { return false };
        *four = packed;
    }
    let mut seen = 0;
    for (pair, byte) in rest.chunks_exact(2).zip(out_rest) {
        let (high, low) = (DIGIT[usize::from(pair[0])], DIGIT[usize::from(pair[1])]);
        seen |= high | low;
        *byte = high << 4 | low;
    }
    seen < 16
}

/// Eight digits at once, each in its byte of one number.
#[inline]
pub(super) fn hex_of_eight(digits: [u8; 8]) -> Option<[u8; 4]> {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = EACH * 0x80;
    let text = u64::from_le_bytes(digits);
    if text & HIGH != 0 {
        return None;
    }
    // The high bit of every byte that is at least so much.
    let at_least = |byte: u8| text + EACH * u64::from(0x80 - byte);
    let digit = at_least(b'0') & !at_least(b'9' + 1);
    let letter = at_least(b'a') & !at_least(b'f' + 1);
    if (digit | letter) & HIGH != HIGH {
        return None;
    }
    let values = (text & (EACH * 15)) + 9 * ((letter & HIGH) >> 7);
    let pairs = (values << 4 | values >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs | pairs >> 8) & 0x0000_ffff_0000_ffff;
    #[expect(clippy::cast_possible_truncation, reason = "the lower half has it all")]
    let packed = (fours | fours >> 16) as u32;
    Some(packed.to_le_bytes())
}

/// Where the digits of a UUID's text are, and which of the 32 digits starts there.
const UUID_DIGITS: [((usize, usize), usize); 5] =
    [((0, 8), 0), ((9, 13), 8), ((14, 18), 12), ((19, 23), 16), ((24, 36), 20)];

fn uuid(text: &[u8], out: &mut [u8]) -> bool {
    let mut digits = [0; 32];
    for (range, from) in UUID_DIGITS {
        digits[from..from + range.1 - range.0].copy_from_slice(&text[range.0..range.1]);
    }
    [8, 13, 18, 23].iter().all(|&dash| text[dash] == b'-') && hex(&digits, out)
}

fn write_hex(bytes: &[u8], out: &mut [u8]) {
    for (byte, pair) in bytes.iter().zip(out.chunks_exact_mut(2)) {
        pair[0] = HEX_DIGITS[usize::from(byte >> 4)];
        pair[1] = HEX_DIGITS[usize::from(byte & 15)];
    }
}

fn write_decimal(bytes: &[u8], out: &mut [u8]) -> usize {
    let mut number = bytes.iter().fold(0_u64, |number, &byte| number << 8 | u64::from(byte));
    let length = number.checked_ilog10().unwrap_or(0) as usize + 1;
    for digit in out[..length].iter_mut().rev() {
        *digit = b'0' + (number % 10).to_le_bytes()[0];
        number /= 10;
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(id: &str) -> (Form, Vec<u8>) {
        let mut buffer = Buffer::new();
        let packed = Packed::new(id, &mut buffer);
        assert_eq!(packed.unpack(&mut Buffer::new()), id);
        assert_eq!(packed.form.bytes(), packed.bytes.len(), "{id}");
        (packed.form, packed.bytes.to_vec())
    }

    #[test]
    fn numbers_written_out_take_the_bytes_of_the_number() {
        assert_eq!(packed("5f9d88b9c3b4e2a1d0f6a7b8").1.len(), 12);
        assert_eq!(packed("123e4567-e89b-12d3-a456-426614174000").1.len(), 16);
        assert_eq!(packed("4294967295"), (SMALL, vec![255; 4]));
        assert_eq!(packed("4294967296").0, LARGE);
        assert_eq!(packed("18446744073709551615"), (LARGE, vec![255; 8]));
        assert_eq!(packed("0"), (SMALL, vec![0; 4]));
        assert_eq!(packed("00").1, vec![0]);
    }

    #[test]
    fn hex_of_every_length_packs_and_one_other_digit_anywhere_does_not() {
        for digits in (2..=128).step_by(2) {
            let id = "e7c0ffee19ab35d2".repeat(8)[..digits].to_owned();
            assert_eq!(packed(&id).1.len(), digits / 2);
            for at in 0..digits {
                let mut other = id.clone();
                other.replace_range(at..=at, "g");
                assert_eq!(packed(&other).1, other.as_bytes());
            }
        }
    }

    #[test]
    fn what_is_not_written_the_canonical_way_stays_text() {
        for id in [
            "5F9D88B9C3B4E2A1D0F6A7B8",
            "5f9d88b9c3b4e2a1d0f6a7bG",
            "007",
            "18446744073709551616a",
            "123E4567-e89b-12d3-a456-426614174000",
            "123e4567-e89b-12d3-a456_426614174000",
            "1",
            "a",
            "플레이어",
            "-1",
            "+1",
            " 1",
        ] {
            let (form, bytes) = packed(id);
            assert!(form == SMALL && id == "1" || bytes == id.as_bytes(), "{id}");
        }
        assert_eq!(packed(&"x".repeat(128)).1.len(), 128);
        assert_eq!(packed(&"ab".repeat(64)).1.len(), 64);
    }

    #[test]
    fn eight_and_sixteen_digits_at_once_are_the_same_as_one_by_one() {
        for byte in 0..=255_u8 {
            for at in 0..8 {
                let mut text = *b"09afb7e1";
                text[at] = byte;
                let plain = std::str::from_utf8(&text).ok().filter(|text| {
                    text.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
                });
                let plain = plain.map(|text| u32::from_str_radix(text, 16).unwrap().to_be_bytes());
                assert_eq!(hex_of_eight(text), plain, "{text:?}");
                for twice in [[text, *b"7e10c9a5"], [*b"7e10c9a5", text]] {
                    let [first, second] = twice.map(hex_of_eight);
                    let both = first.zip(second).map(|(first, second)| [first, second]);
                    let sixteen = twice.as_flattened().try_into().unwrap();
                    let both = both.map(|both| both.as_flattened().to_vec());
                    assert_eq!(hex_of_sixteen(sixteen).map(Vec::from), both, "{twice:?}");
                }
            }
        }
    }

    #[test]
    fn ids_compare_by_the_bytes_of_their_text() {
        let ids = [
            "0",
            "00",
            "000",
            "007",
            "1",
            "10",
            "100",
            "18446744073709551616",
            "2",
            "9",
            "99",
            "A0",
            "AB",
            "a",
            "a0",
            "ab",
            "abc",
            "abcd",
            "f",
            "ff",
            "zz",
            "é",
            "플",
        ];
        for a in ids {
            for b in ids {
                let (mut x, mut y) = (Buffer::new(), Buffer::new());
                let order = Packed::new(a, &mut x).cmp_text(Packed::new(b, &mut y));
                assert_eq!(order, a.as_bytes().cmp(b.as_bytes()), "{a} {b}");
            }
        }
    }
}
