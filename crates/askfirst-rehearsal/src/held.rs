//! The changes of one run, held back until a permit commits them.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use askfirst::ports::{CommitFailed, HeldChanges};
use askfirst::record::CommitRecord;
use askfirst::{ApprovalPresentation, Effects, EffectsPolicy, RecordedCommitPermit, RunBasis};
use askfirst_changes::ChangeStore;
use askfirst_files::{RootView, Roots};

use crate::effects::{label, new_product};
use crate::question;
use crate::rehearsals::{CommitNote, Rehearsals, asks_about_removals, is_real_folder};
use crate::views::{self, CollectedView};

/// The changes of one run. Dropping it discards them.
pub(crate) struct HeldRun {
    effects: Effects,
    note: String,
    asks_about_removals: bool,
    undo_obstacle: Option<Arc<str>>,
    roots: Arc<Roots>,
    products: Vec<PathBuf>,
    store: ChangeStore,
    /// The new folder that holds all changes and looks like build output. A commit approves it for the session.
    new_product: Option<PathBuf>,
    approved_products: Arc<Mutex<Vec<PathBuf>>>,
    views: Mutex<Option<Vec<CollectedView>>>,
}

impl HeldRun {
    pub(crate) fn new(
        rehearsals: &Rehearsals,
        views: Vec<CollectedView>,
        effects: Effects,
        note: String,
        undo_obstacle: Option<Arc<str>>,
    ) -> Self {
        let new_product = new_product(&views, &effects.changes);
        Self {
            effects,
            note,
            asks_about_removals: asks_about_removals(&rehearsals.config),
            undo_obstacle,
            roots: Arc::clone(&rehearsals.roots),
            products: rehearsals.products(),
            store: rehearsals.store.clone(),
            new_product,
            approved_products: Arc::clone(&rehearsals.approved_products),
            views: Mutex::new(Some(views)),
        }
    }
}

impl HeldChanges for HeldRun {
    fn effects(&self) -> &Effects {
        &self.effects
    }

    fn policy(&self, basis: RunBasis) -> EffectsPolicy {
        EffectsPolicy {
            basis,
            asks_about_removals: self.asks_about_removals,
            undo_obstacle: self.undo_obstacle.clone(),
            accepted: Vec::new(),
        }
    }

    fn products(&self) -> Vec<String> {
        let real = self.products.iter().filter(|path| is_real_folder(path));
        real.map(|path| label(path, self.roots.folder())).collect()
    }

    fn present(&self) -> ApprovalPresentation {
        let views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        question::present(
            &self.effects,
            views.as_deref().unwrap_or_default(),
            &RootView::new(&self.roots),
            &self.products,
            self.new_product.as_deref(),
        )
    }

    fn commit(&self, permit: RecordedCommitPermit) -> Result<Vec<CommitRecord>, CommitFailed> {
        let views = self.views.lock().unwrap_or_else(PoisonError::into_inner).take();
        let views =
            views.ok_or_else(|| CommitFailed::Failed("the changes were already decided".to_owned()))?;
        let (digest, decision) = permit.spend();
        if digest != self.effects.digest {
            return Err(CommitFailed::Failed("the permit is for other changes".to_owned()));
        }
        let commits = views::commit(views, digest, |root| {
            CommitNote { decision: decision.clone(), root: root.to_owned(), command: self.note.clone() }
                .to_string()
        })?;
        let mut approved = self.approved_products.lock().unwrap_or_else(PoisonError::into_inner);
        approved.extend(self.new_product.clone());
        Ok(commits)
    }

    fn mark_logged(&self, commits: &[CommitRecord]) {
        for commit in commits {
            // If this fails, the next session logs the commit once more.
            drop(self.store.mark_logged(&commit.commit));
        }
    }
}
