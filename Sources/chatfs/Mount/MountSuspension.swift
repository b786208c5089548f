import Base
import FileSystem
import MessageBus
import Posix

/// The reasons for suspended transfers. A pure value; `MountSuspension` performs the effects.
struct SuspensionReasons: Equatable, Sendable {
    /// `chatfs suspend`, until `chatfs resume`, across sleep.
    private(set) var byUser = false
    /// The machine is about to sleep, or sleeps.
    private(set) var forSleep = false

    enum Event: CaseIterable {
        case suspended, resumed, sleeping, awake
    }

    enum Effect: Equatable {
        case suspend, resume
        /// Release the delay of the sleep, because the connections are closed.
        case letSleep
    }

    /// The value of `MountStatus.suspended`.
    var word: String? { byUser ? "user" : forSleep ? "sleep" : nil }

    mutating func take(_ event: Event) -> [Effect] {
        let wasSuspended = word != nil
        switch event {
        case .suspended: byUser = true
        case .resumed: byUser = false
        case .sleeping: forSleep = true
        case .awake: forSleep = false
        }
        let change: [Effect] =
            switch (wasSuspended, word != nil) {
            case (false, true): [.suspend]
            case (true, false): [.resume]
            case (true, true), (false, false): []
            }
        return event == .sleeping ? change + [.letSleep] : change
    }
}

/// Closes a mount's connections while suspended, and reports it in the status. Thread-safe.
final class MountSuspension: Sendable {
    private struct State {
        var reasons = SuspensionReasons()
        var following: Task<Void, Never>?
        /// Told of changes.
        weak var fileSystem: FileSystem?
    }

    private let core: MountedCore
    private let system: SystemWatch
    private let state = Lock(State())
    /// Serialises changes in the order of their decisions.
    private let order = AsyncSemaphore(1)

    init(core: MountedCore, system: SystemWatch) {
        (self.core, self.system) = (core, system)
    }

    /// Subscribes to the machine's sleep. Called once.
    func begin(on fileSystem: FileSystem) {
        state.withLock { $0.fileSystem = fileSystem }
        fileSystem.completeStatus { [weak self] in $0.suspended = self?.state.withLock(\.reasons.word) }
        let notices = system.notices()
        let task = Task { [weak self, system] in
            await ThreadPool.shared.run { system.start() }
            for await notice in notices {
                switch notice {
                case .sleeping: await self?.take(.sleeping)
                case .awake: await self?.take(.awake)
                case .metered, .sessionLocked: break
                }
            }
        }
        state.withLock { $0.following = task }
    }

    var isSuspended: Bool { state.withLock { $0.reasons.word != nil } }

    /// Resumes, so that no task waits for ever.
    func stop() async {
        state.withLock { $0.following }?.cancel()
        await core.resume()
    }

    func take(_ event: SuspensionReasons.Event) async {
        // Completes even if the caller is cancelled.
        await Task { [self] in await perform(event) }.value
    }

    private func perform(_ event: SuspensionReasons.Event) async {
        _ = await order.acquire()
        defer { order.release() }
        for effect in state.withLock({ $0.reasons.take(event) }) {
            switch effect {
            case .suspend:
                await core.suspend()
                tell(true)
                Log("mount").notice("transfers suspended")
            case .resume:
                await core.resume()
                tell(false)
                Log("mount").notice("transfers resumed")
            case .letSleep: system.readyToSleep()
            }
        }
    }

    private func tell(_ isSuspended: Bool) { state.withLock { $0.fileSystem }?.tellSuspension(isSuspended) }
}
