//! Answers that need not be given twice: what they are made of has a tag, and whoever holds the
//! answer of that tag is told only that it is still good.

use serde::Serialize;

use crate::access::View;
use crate::crypto::{Keyring, Tag};
use crate::engine::{Context, Read};
use crate::model::{EnvironmentPath, Result};
use crate::store::{EnvironmentRecord, Wanted};

/// What the caller holds of an answer already.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Held {
    /// Nothing: the answer is wanted.
    #[default]
    Nothing,
    /// The answers of these tags.
    Tags(Vec<String>),
    /// Something, whatever it is.
    Anything,
}

/// An answer and its tag. What is written is the answer; a host puts the tag beside it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct Tagged<T> {
    /// Changes whenever the answer does.
    #[serde(skip)]
    pub tag: Tag,
    /// The answer, unless the caller holds it.
    pub answer: Option<T>,
}

impl Held {
    fn is_good(&self, tag: &Tag) -> bool {
        match self {
            Self::Nothing => false,
            Self::Tags(tags) => tags.iter().any(|held| held == tag.as_str()),
            Self::Anything => true,
        }
    }
}

impl Context<'_, Read> {
    /// What the caller may read at a path, unless they hold what is made of it `form`, and the tag
    /// of that. Whoever holds something is first judged by the revisions of the chain alone: no
    /// secret is read or opened for an answer that is still good, and none is recorded as read.
    pub(crate) async fn view_unless_held(
        &mut self,
        at: &EnvironmentPath,
        form: &str,
        held: &Held,
    ) -> Result<(Tag, Option<View>)> {
        if *held != Held::Nothing {
            let view = self.view(at, Wanted::Nothing).await?;
            let tag = self.tag(&view, form);
            if held.is_good(&tag) {
                self.note.is_unrecorded = true;
                return Ok((tag, None));
            }
        }
        let view = self.view(at, Wanted::All).await?;
        Ok((self.tag(&view, form), Some(view)))
    }

    fn tag(&self, view: &View, form: &str) -> Tag {
        chain_tag(self.keyring(), form, view.chain.iter().map(|link| &link.environment))
    }
}

/// The tag of what is made of a chain `form`. Each write to an environment's secrets counts its
/// revision; what else is seen of a chain is which environments it is made of, in which order, and
/// their names.
pub(crate) fn chain_tag<'a>(
    keyring: &Keyring,
    form: &str,
    chain: impl IntoIterator<Item = &'a EnvironmentRecord>,
) -> Tag {
    let mut parts = vec![form.as_bytes().to_vec()];
    for environment in chain {
        parts.push(environment.id.uuid().as_bytes().to_vec());
        parts.push(environment.revision.to_be_bytes().to_vec());
        parts.push(environment.name.as_str().as_bytes().to_vec());
    }
    Tag::of(keyring, parts.iter().map(Vec::as_slice))
}
