//! Chooses the network of a process: none, the loopback network of the session, or the network of this machine.
//!
//! Commands that run without the network reach each other only through the loopback network of their session. It exists
//! as soon as the session has a server in the background: without one, no process of an earlier command is left to reach.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use askfirst::ports::{Access, Launch};
use askfirst::{Approval, RunFactKind};
use askfirst_config::NetworkAccess;
use askfirst_sandbox::{Attempt, LoopbackNetwork, Network, OSProfile, Sandbox, Spec};

use super::SandboxLauncher;

impl SandboxLauncher {
    /// Whether a person's yes gives a call the network that it tried to reach.
    pub(crate) fn may_grant_network(&self) -> bool {
        let shell = self.config.main.shell.as_ref();
        shell.is_some_and(|shell| shell.network == NetworkAccess::Required) && !self.profile_forbids_network()
    }

    fn profile_forbids_network(&self) -> bool {
        let layers = std::iter::once(&self.config.main).chain(&self.config.floors);
        let mut profiles = layers.filter_map(|layer| layer.sandbox.os_profile.as_ref());
        profiles.any(|profile| profile.network == Some(false))
    }

    /// Returns the network of a launch: the one of its profile, or more if a rule or a person has accepted that.
    pub(crate) fn network_of(&self, launch: &Launch, of_profile: Network) -> Network {
        let was_accepted = launch.accepted.contains(&RunFactKind::Network);
        if was_accepted && !self.profile_forbids_network() { Network::Shared } else { of_profile }
    }

    /// Adds the loopback network of the session to the spec of a process that may share it, if the session has a server.
    pub(crate) fn with_session_network(
        &self,
        launch: &Launch,
        sandbox: &Sandbox,
        profile: &OSProfile,
        spec: &Spec,
    ) -> Spec {
        let may_share = profile.network == Network::Own && !self.reads_more(launch.access);
        if !may_share || !self.shares_loopback.load(Ordering::Acquire) {
            return spec.clone();
        }
        // Without it, each process has a network of its own.
        let create = || LoopbackNetwork::create(sandbox, profile.user).ok().map(Arc::new);
        Spec { network: self.network.get_or_init(create).clone(), ..spec.clone() }
    }

    /// Whether a process with this access may read what a rehearsed one may not.
    fn reads_more(&self, access: Access) -> bool {
        let layers = || std::iter::once(&self.config.main).chain(&self.config.floors);
        let mut paths = layers().flat_map(|layer| layer.sandbox.paths.values());
        match access {
            Access::WithoutAsking | Access::Rehearsal => false,
            Access::Remembered | Access::Standing | Access::Approved => {
                paths.any(|path| path.approval.read > Approval::None)
            }
        }
    }
}

/// Whether access to the network would have allowed the attempt.
pub(crate) fn is_network(attempt: Attempt) -> bool {
    use rustix::net::AddressFamily;
    let inet = [AddressFamily::INET, AddressFamily::INET6].map(|family| i32::from(family.as_raw()));
    match attempt {
        Attempt::Socket(family) => inet.contains(&family),
        Attempt::Outside(_) => true,
        Attempt::DatagramPair | Attempt::Mount(_) | Attempt::Namespace => false,
    }
}
