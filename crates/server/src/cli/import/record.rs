//! One line of CSV in its fields.

use csv_core::{ReadRecordResult, Reader};

use super::row::BadRow;

/// More fields than any row has.
const FIELDS: usize = 16;

/// The fields of a line. Made once and filled line by line, so that a row costs no allocation.
pub(super) struct Record {
    reader: Reader,
    /// All fields without what separates them.
    bytes: Vec<u8>,
    /// Where each field ends.
    ends: [usize; FIELDS],
    len: usize,
}

impl Record {
    pub(super) fn new() -> Self {
        Self { reader: Reader::new(), bytes: Vec::new(), ends: [0; FIELDS], len: 0 }
    }

    /// Reads the fields of a line, which ends with a line feed. No column may hold one, so that a line is a record.
    pub(super) fn parse(&mut self, line: &[u8]) -> Result<(), BadRow> {
        self.reader.reset();
        self.bytes.resize(line.len(), 0);
        let (result, _, _, len) = self.reader.read_record(line, &mut self.bytes, &mut self.ends);
        self.len = len;
        match result {
            ReadRecordResult::Record => Ok(()),
            ReadRecordResult::OutputEndsFull => Err(format!("more than {FIELDS} columns")),
            _ => Err("a quote is not closed on this line".to_owned()),
        }
    }

    /// How many fields there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// A field; empty where there is none.
    pub(super) fn get(&self, index: usize) -> &[u8] {
        if index >= self.len {
            return &[];
        }
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start..self.ends[index]]
    }

    /// All fields.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len).map(|index| self.get(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(line: &str) -> Result<Vec<String>, BadRow> {
        let mut record = Record::new();
        // What an earlier line leaves behind must not matter.
        let _ = record.parse(b"\"x,y,z\n");
        record.parse(line.as_bytes())?;
        Ok(record.iter().map(|field| str::from_utf8(field).unwrap().to_owned()).collect())
    }

    #[test]
    fn a_line_is_its_fields() {
        assert_eq!(fields("a,5\n").unwrap(), ["a", "5"]);
        assert_eq!(fields("a,5,,\r\n").unwrap(), ["a", "5", "", ""]);
        assert_eq!(fields("\"a\",\"5\"\r\n").unwrap(), ["a", "5"]);
        assert_eq!(fields("a,5,,\"Lee, \"\"A\"\"\"\n").unwrap(), ["a", "5", "", "Lee, \"A\""]);
        assert!(fields("a,\"5\n").is_err());
        assert!(fields(&format!("{}\n", ",".repeat(20))).is_err());
    }
}
