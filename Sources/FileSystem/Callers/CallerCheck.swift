import Base
import Glibc
import Namespace
import Posix

/// A request to open an item's file.
struct ItemOpening: Sendable {
    /// Flags of open(2).
    var flags: Int32
    var name: EntryName
    var folder: NodeID
    /// File size in bytes.
    var size: UInt64
}

/// Applies `CallerPolicy` to programs that open files not on this machine, and counts their openings. Thread-safe.
final class CallerCheck: Sendable {
    /// Identifies the program of a thread. May block for a while. Returns nil if the program cannot be identified.
    typealias Identify = @Sendable (_ thread: pid_t) -> Caller?
    /// Returns how the thread's program treats files, and whether it displays the folder. May block.
    typealias Look = @Sendable (_ thread: pid_t, _ folder: NodeID) -> ProgramTraits?

    private struct State {
        var counts: [CallerKind: CallerCount] = [:]
        /// Programs already reported in the log.
        var told: Set<String> = []
        /// Results for executables whose path alone decides. Matching the table would dominate the cost of an open.
        var visibilities: [String: Visibility] = [:]
        var detectors: TypeDetectors
    }

    /// Whether an executable opens files for a user to see.
    private enum Visibility {
        case seen, unseen
        case dependsOnArguments

        init(_ executable: String) {
            if CallerPolicy.dependsOnArguments(executable) {
                self = .dependsOnArguments
            } else {
                self = CallerPolicy.kind(of: Caller(executable: executable)) == nil ? .seen : .unseen
            }
        }
    }

    private let permissions: MountPermissions
    private let identify: Identify
    private let look: Look
    private let typeNames: TypeNames
    /// Identification time limit. An unidentified program gets full access.
    private let timeout: Duration
    private let user: UserConnection?
    private let state: Lock<State>
    /// A pool of its own, so that a stuck read of a command line delays no other work.
    private static let threads = ThreadPool(name: "callers", threads: 2)
    private let log = Log("filesystem")

    /// Maximum number of programs reported in the log.
    private static let maxTold = 64
    /// More than the number of executables that have files open at one time on any machine.
    private static let maxVisibilities = 256

    init(
        _ permissions: MountPermissions, identify: @escaping Identify = CallerCheck.systemCaller,
        look: @escaping Look = { _, _ in nil }, typeNames: TypeNames = TypeNames(),
        timeout: Duration = .seconds(1), memory: Duration = .milliseconds(500), user: UserConnection? = nil
    ) {
        state = Lock(State(detectors: TypeDetectors(lifetime: memory)))
        self.look = look
        self.typeNames = typeNames
        self.permissions = permissions
        self.user = user
        self.identify = identify
        self.timeout = timeout
    }

    static func systemCaller(_ thread: pid_t) -> Caller? { Caller(of: thread) }

    /// Decides how much an opening by `thread` may fetch of a file that is not on this machine.
    /// - Parameters:
    ///   - thread: 0 if unknown; then access is full.
    ///   - opening: nil if only the program is known.
    func access(of thread: pid_t, _ opening: ItemOpening? = nil) async -> CallerPolicy.Access {
        guard thread > 0 else { return .full }
        if let opening, let known = knownAccess(of: thread, opening) { return known }
        guard let caller = await caller(thread) else { return await access(of: thread, finding: opening) }
        let verdict = permissions.callers.verdict(on: caller)
        guard let kind = verdict.kind else {
            return verdict.isAllowed ? verdict.access : await access(of: thread, finding: opening)
        }
        let isNew = state.withLock { state in
            state.counts[kind, default: CallerCount()].note(verdict.access)
            return verdict.access == .none && state.told.count < Self.maxTold
                && state.told.insert(caller.name).inserted
        }
        if isNew {
            user?.notify(
                .refused(
                    RefusalNotice(
                        request: .fetch(kind), code: EACCES, name: caller.printableName,
                        permission: Self.permission(of: caller, kind))))
            log.notice(
                "fetch refused: program=\(caller.printableName) kind=\(kind.rawValue) "
                    + "remedy='chatfs mount --allow'")
        }
        return verdict.access
    }

    /// Returns nil for programs that the user refused, and for names that a rule cannot state exactly.
    private static func permission(of caller: Caller, _ kind: CallerKind) -> Permission? {
        guard kind != .named, caller.name == caller.printableName, !caller.name.isEmpty else { return nil }
        return .program(caller.name)
    }

    /// Decides for a program of no known kind. A window that lists a folder fetches nothing to detect types. Neither
    /// the user nor the log is notified, because no data is missed.
    private func access(
        of thread: pid_t, finding opening: ItemOpening?
    ) async -> CallerPolicy.Access {
        guard let opening else { return .full }
        let settles = typeNames.settles(opening.name.bytes)
        guard TypeDetection.dependsOnProgram(flags: opening.flags, nameSettlesType: settles) else {
            return .full
        }
        let looking = Task { [look] in await Self.threads.run { look(thread, opening.folder) } }
        let traits = await looking.result(within: timeout)?.get() ?? nil
        guard let access = detection(opening, settles, by: traits) else { return .full }
        if let traits, let executable = RunningProgram.executable(of: thread) {
            state.withLock {
                $0.detectors.note(traits, of: thread, running: executable, in: opening.folder, at: .now)
            }
        }
        return access
    }

    /// Returns the access of a thread that lately detected types in the folder, if this opening does so too.
    private func knownAccess(of thread: pid_t, _ opening: ItemOpening) -> CallerPolicy.Access? {
        guard !state.withLock({ $0.detectors.isEmpty }),
            let executable = RunningProgram.executable(of: thread),
            let traits = state.withLock({ state in
                state.detectors.traits(of: thread, running: executable, in: opening.folder, at: .now)
            })
        else { return nil }
        return detection(opening, typeNames.settles(opening.name.bytes), by: traits)
    }

    /// Returns the access of an opening that detects the type, and counts it; nil for any other opening.
    private func detection(
        _ opening: ItemOpening, _ settles: Bool, by traits: ProgramTraits?
    ) -> CallerPolicy.Access? {
        switch TypeDetection.verdict(
            flags: opening.flags, nameSettlesType: settles, size: opening.size, by: traits)
        {
        case .reader: return nil
        case .byFirstRead(let limit): return .afterFirstRead(limit: limit)
        case .detection:
            state.withLock { $0.counts[.sniffer, default: CallerCount()].note(.typeOnly) }
            return .typeOnly
        }
    }

    /// Calls `isSeen`, now or later, unless a background program or type detection opened the local file.
    func whenSeen(by thread: pid_t, _ opening: ItemOpening, _ isSeen: @escaping @Sendable () -> Void) {
        if opening.flags & TypeDetection.noAccessTime != 0 { return }
        guard let executable = RunningProgram.executable(of: thread) else { return isSeen() }
        switch visibility(of: executable) {
        case .seen where typeNames.settles(opening.name.bytes): isSeen()
        case .seen:
            Self.threads.submit { [look] in
                let verdict = TypeDetection.verdict(
                    flags: opening.flags, nameSettlesType: false, size: opening.size,
                    by: look(thread, opening.folder))
                if verdict != .detection { isSeen() }
            }
        case .unseen: break
        case .dependsOnArguments:
            Self.threads.submit { [identify] in
                if identify(thread).flatMap(CallerPolicy.kind) == nil { isSeen() }
            }
        }
    }

    private func visibility(of executable: String) -> Visibility {
        if let known = state.withLock({ $0.visibilities[executable] }) { return known }
        let visibility = Visibility(executable)
        state.withLock { state in
            if state.visibilities.count >= Self.maxVisibilities { state.visibilities = [:] }
            state.visibilities[executable] = visibility
        }
        return visibility
    }

    var counts: [String: CallerCount] {
        let counts = state.withLock { $0.counts }
        return Dictionary(uniqueKeysWithValues: counts.map { ($0.key.rawValue, $0.value) })
    }

    private func caller(_ thread: pid_t) async -> Caller? {
        let looking = Task { [identify] in await Self.threads.run { identify(thread) } }
        return await looking.result(within: timeout)?.get()
    }
}

/// Openings of files that were not on this machine, by programs of one kind.
public struct CallerCount: Codable, Hashable, Sendable {
    /// Openings with full access.
    public var served: UInt64 = 0
    /// Openings limited to the first chunk.
    public var limited: UInt64 = 0
    public var refused: UInt64 = 0

    init(served: UInt64 = 0, limited: UInt64 = 0, refused: UInt64 = 0) {
        (self.served, self.limited, self.refused) = (served, limited, refused)
    }

    mutating func note(_ access: CallerPolicy.Access) {
        switch access {
        case .full, .impatient, .afterFirstRead: served += 1
        case .beginning: limited += 1
        case .none, .typeOnly: refused += 1
        }
    }
}

extension CallerKind {
    /// The singular noun for use in sentences.
    public var noun: String {
        switch self {
        case .thumbnailer: "thumbnailer"
        case .indexer: "indexer"
        case .scanner: "scanner"
        case .backup: "backup program"
        case .sniffer: "reader of beginnings"
        case .named: "program named by --refuse"
        }
    }
}
