//! Encodes and decodes the parameters of tasks.

use std::sync::Arc;

use datafusion::arrow::datatypes::Schema;
use datafusion_proto::protobuf;
use prost::Message;
use throng_core::key::ReleaseKey;
use throng_policy::Policy;

use super::message::{AnonymizerMessage, BodyMessage};
use super::place::StorePlace;
use super::rows::Spread;
use super::{Deals, Forms, Joins, Outliner, Routes, Surveys};
use crate::anonymizer::Anonymizer;
use crate::{AnonymizeError, CodecError};

/// Decoded parameters of a task.
struct Body {
    anonymizer: Arc<Anonymizer>,
    place: StorePlace,
    outline: String,
    spread: Spread,
    rows_per_file: u64,
}

fn malformed() -> AnonymizeError {
    AnonymizeError::Codec(CodecError::Malformed("a task"))
}

impl Body {
    fn read(bytes: &[u8]) -> Result<Self, AnonymizeError> {
        let message = BodyMessage::decode(bytes).map_err(|_| malformed())?;
        Ok(Self {
            anonymizer: Arc::new(Anonymizer::of_message(&message.anonymizer.ok_or_else(malformed)?)?),
            place: StorePlace::new(message.place),
            outline: message.outline,
            spread: Spread::of_slots(message.slots),
            rows_per_file: message.rows_per_file,
        })
    }
}

/// Encodes the parameters of a task that works on a sketch.
pub(super) fn body_of_sketch(anonymizer: &Anonymizer, place: &StorePlace, sketch: &str) -> Vec<u8> {
    let message = BodyMessage {
        anonymizer: Some(anonymizer.message()),
        place: place.url().to_owned(),
        outline: sketch.to_owned(),
        ..BodyMessage::default()
    };
    message.encode_to_vec()
}

/// Decodes a policy from its portable text and the release key.
pub(crate) fn policy_of_message(policy: &str, key: &[u8]) -> Result<Policy, AnonymizeError> {
    let key = ReleaseKey::from_bytes(key.try_into().map_err(|_| malformed())?);
    Ok(Policy::from_portable(policy)?.with_release_key(key))
}

impl Anonymizer {
    pub(super) fn message(&self) -> AnonymizerMessage {
        let input = protobuf::Schema::try_from(self.input_schema().as_ref()).ok();
        AnonymizerMessage { policy: self.policy().to_portable(), key: self.key().to_bytes().to_vec(), input }
    }

    fn of_message(message: &AnonymizerMessage) -> Result<Self, AnonymizeError> {
        let policy = Arc::new(policy_of_message(&message.policy, &message.key)?);
        let input = message.input.as_ref().and_then(|input| Schema::try_from(input).ok()).ok_or_else(malformed)?;
        Self::new(policy, Arc::new(input))
    }

    /// Encodes the policy and the schema that it is bound to.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.message().encode_to_vec()
    }

    /// Decodes the output of [`Anonymizer::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, AnonymizeError> {
        Self::of_message(&AnonymizerMessage::decode(bytes).map_err(|_| malformed())?)
    }
}

impl Surveys {
    /// Decodes the task from its body.
    pub(crate) fn read(body: &[u8]) -> Result<Self, AnonymizeError> {
        Ok(Self::new(Body::read(body)?.anonymizer))
    }
}

impl Outliner {
    /// Decodes the task from its body.
    pub(crate) fn read(body: &[u8]) -> Result<Self, AnonymizeError> {
        let Body { anonymizer, place, spread, .. } = Body::read(body)?;
        Ok(Self::new(anonymizer, place, spread))
    }
}

impl Forms {
    /// Decodes the task from its body.
    pub(crate) fn read(body: &[u8]) -> Result<Self, AnonymizeError> {
        let Body { anonymizer, place, outline, .. } = Body::read(body)?;
        Ok(Self::new(anonymizer, place, outline))
    }
}

impl Joins {
    /// Decodes the task from its body.
    pub(crate) fn read(body: &[u8]) -> Result<Self, AnonymizeError> {
        let Body { anonymizer, place, outline, .. } = Body::read(body)?;
        Ok(Self::new(anonymizer, place, outline))
    }
}

impl Routes {
    /// Decodes the task from its body.
    pub(crate) fn read(body: &[u8]) -> Result<Self, AnonymizeError> {
        let Body { anonymizer, place, outline, spread, .. } = Body::read(body)?;
        Ok(Self::new(anonymizer, place, outline, spread))
    }
}

impl Deals {
    /// Decodes the task from its body.
    pub(crate) fn read(body: &[u8]) -> Result<Self, AnonymizeError> {
        let Body { anonymizer, place, outline, spread, rows_per_file } = Body::read(body)?;
        Ok(Self::new(anonymizer, place, outline, spread, rows_per_file))
    }
}
