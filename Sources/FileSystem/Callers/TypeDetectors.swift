import Glibc
import Namespace
import Posix

/// The threads that lately detected types in a folder, with the traits of their programs. A window opens its files one
/// after the other and waits for each; reading about its program every time would be most of that wait, and several
/// windows would wait for each other. A pure value.
struct TypeDetectors: Sendable {
    typealias Instant = ContinuousClock.Instant

    private struct Key: Hashable {
        var thread: pid_t
        var folder: NodeID
    }

    private struct Known {
        var executable: String
        var traits: ProgramTraits
        var until: Instant
    }

    private var known: [Key: Known] = [:]
    /// How long traits are valid: a program may close its window or, with another executable, take over the thread.
    private let lifetime: Duration

    static let limit = 64

    init(lifetime: Duration) { self.lifetime = lifetime }

    var isEmpty: Bool { known.isEmpty }

    mutating func note(
        _ traits: ProgramTraits, of thread: pid_t, running executable: String, in folder: NodeID,
        at now: Instant
    ) {
        if known.count >= Self.limit { known = known.filter { $0.value.until > now } }
        if known.count >= Self.limit { known = [:] }
        known[Key(thread: thread, folder: folder)] = Known(
            executable: executable, traits: traits, until: now + lifetime)
    }

    /// Returns nil for a thread that is not known, or that runs another program since.
    func traits(
        of thread: pid_t, running executable: String, in folder: NodeID, at now: Instant
    ) -> ProgramTraits? {
        guard let found = known[Key(thread: thread, folder: folder)], found.until > now,
            found.executable == executable
        else { return nil }
        return found.traits
    }
}
