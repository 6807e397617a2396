//! Verifies the linked rows of a published release.

use throng_policy::Policy;

use super::{LinkedFindings, StagedTable, find_profiles};
use crate::error::{JobError, Kind};
use crate::job::JobOptions;
use crate::manifest::FileEntry;
use crate::verify::{listed_files, release_at};

/// Counts the profiles of people in a release with pseudonyms, over all of its tables. Also returns the reason if it breaks the
/// promise; `None` under a policy without pseudonyms.
pub async fn verify_linked(
    location: &str,
    policy: &Policy,
    options: &JobOptions,
) -> Result<Option<(LinkedFindings, Option<&'static str>)>, JobError> {
    if policy.pseudonym_column().is_none() {
        return Ok(None);
    }
    let Some((place, manifest)) = release_at(&[location.to_owned()], &policy.store).await? else {
        let text =
            format!("{location} has no manifest, and rows are linked over all files of a release; name its folder");
        return Err(JobError::new(Kind::BadQuery, text));
    };
    listed_files(&place, &manifest).await?;
    let named = policy.linked_tables();
    let files_of = |name: &Option<String>| -> Vec<FileEntry> {
        let files = manifest.files.iter().filter_map(|file| match (name, file.path.split_once('/')) {
            (Some(name), Some((folder, path))) if folder == name => {
                Some(FileEntry { path: path.to_owned(), ..file.clone() })
            }
            // The files of one table may lie in a folder.
            (None, _) if manifest.folders().len() <= 1 => Some(file.clone()),
            _ => None,
        });
        files.collect()
    };
    let files: Vec<Vec<FileEntry>> = named.iter().map(|(name, _)| files_of(name)).collect();
    if files.iter().map(Vec::len).sum::<usize>() != manifest.files.len() || files.iter().any(Vec::is_empty) {
        let text = format!("the release at {place} has other tables than the policy");
        return Err(JobError::new(Kind::Verification, text));
    }
    let tables = named.iter().zip(&files).map(|((name, policy), files)| {
        let place = name.as_ref().map_or_else(|| place.clone(), |name| place.child(name));
        StagedTable { policy, place, files }
    });
    find_profiles(&tables.collect::<Vec<_>>(), options).await.map(Some)
}
