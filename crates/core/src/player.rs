//! What is known of a player besides scores.

use serde::{Deserialize, Serialize};

use crate::{
    id::Name,
    limits::{ATTRIBUTES_BYTES, AVATAR_URL_BYTES},
};

/// A player's profile. All of it is optional: a player exists from the first score on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// The display name.
    pub name: Option<Name>,
    /// Where the picture is.
    pub avatar_url: Option<AvatarUrl>,
    /// Whatever else the game wants to keep.
    pub attributes: Option<Attributes>,
}

impl Profile {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The address of a picture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AvatarUrl(String);

/// Why a profile is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidProfile {
    /// Not an address that a browser should be given.
    #[error("avatar_url must be an http or https address of at most {AVATAR_URL_BYTES} bytes")]
    AvatarUrl,
    /// Too much.
    #[error("attributes must be a JSON object of at most {ATTRIBUTES_BYTES} bytes")]
    Attributes,
}

impl AvatarUrl {
    /// The address, if it is one of the web: any other scheme would run in the page that shows it.
    pub fn new(text: &str) -> Result<Self, InvalidProfile> {
        let web = text.starts_with("https://") || text.starts_with("http://");
        let plain = !text.chars().any(|c| c.is_control() || c.is_whitespace());
        if web && plain && text.len() <= AVATAR_URL_BYTES {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidProfile::AvatarUrl)
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A JSON object, kept as its text: nothing here looks into it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Attributes(String);

impl Attributes {
    /// Takes the text of an object that the caller has parsed.
    pub fn new(json_object: String) -> Result<Self, InvalidProfile> {
        if json_object.starts_with('{') && json_object.len() <= ATTRIBUTES_BYTES {
            Ok(Self(json_object))
        } else {
            Err(InvalidProfile::Attributes)
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
