import Base
import Glibc
import Namespace
import Posix

/// What is opened, and how.
struct ItemOpening: Sendable {
    /// Those of open(2).
    var flags: Int32
    var name: EntryName
    var folder: NodeID
    /// In bytes.
    var size: UInt64
}

/// Asks who opens a file that is not here, decides by the policy, and keeps count. Any thread.
final class CallerCheck: Sendable {
    /// Finds out what a thread is part of. May block for a while; nil: that cannot be seen.
    typealias Identify = @Sendable (_ thread: pid_t) -> Caller?
    /// The same of how its program treats files, and whether it shows this folder.
    typealias Look = @Sendable (_ thread: pid_t, _ folder: NodeID) -> ProgramTraits?

    private struct State {
        var counts: [CallerKind: CallerCount] = [:]
        /// Programs that the log has told of.
        var told: Set<String> = []
        /// What is known of executables by their paths alone: matching the table takes longer than all else that opening
        /// a file takes.
        var visibilities: [String: Visibility] = [:]
    }

    /// Whether somebody wants to see what a program opens.
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

    private let policy: CallerPolicy
    private let identify: Identify
    private let look: Look
    private let typeNames: TypeNames
    /// Who cannot be identified by then is served.
    private let timeout: Duration
    private let user: UserConnection?
    private let state = Lock(State())
    /// Of their own: a command line that cannot be read holds up no work of others.
    private static let threads = ThreadPool(name: "callers", threads: 2)
    private let log = Log("filesystem")

    /// So many different programs are told of in the log.
    private static let maxTold = 64
    /// More executables than open files at one time on any machine.
    private static let maxVisibilities = 256

    init(
        _ policy: CallerPolicy, identify: @escaping Identify = CallerCheck.systemCaller,
        look: @escaping Look = { _, _ in nil }, typeNames: TypeNames = TypeNames(),
        timeout: Duration = .seconds(1), user: UserConnection? = nil
    ) {
        self.look = look
        self.typeNames = typeNames
        self.policy = policy
        self.user = user
        self.identify = identify
        self.timeout = timeout
    }

    static func systemCaller(_ thread: pid_t) -> Caller? { Caller(of: thread) }

    /// What may be fetched for an opening by `thread` of a file that is not here.
    /// - Parameter opening: nil: nothing is known of it but its program.
    func access(of thread: pid_t, _ opening: ItemOpening? = nil) async -> CallerPolicy.Access {
        guard thread > 0 else { return .full }
        guard let caller = await caller(thread) else { return await access(of: thread, finding: opening) }
        let verdict = policy.verdict(on: caller)
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
                .refused(RefusalNotice(request: .fetch(kind), code: EACCES, name: caller.printableName)))
            log.notice(
                "\(caller.printableName) (\(kind.noun)) is refused files that are not here; 'chatfs mount --allow' "
                    + "lets a program fetch them")
        }
        return verdict.access
    }

    /// The same of a program of no known kind: a window that lists a folder fetches nothing to find out types. Of that
    /// neither the user nor the log is told: nobody misses anything.
    private func access(
        of thread: pid_t, finding opening: ItemOpening?
    ) async -> CallerPolicy.Access {
        guard let opening else { return .full }
        let settles = typeNames.settles(opening.name.bytes)
        guard TypeDetection.dependsOnProgram(flags: opening.flags, nameSettlesType: settles) else {
            return .full
        }
        let looking = Task { [look] in await Self.threads.run { look(thread, opening.folder) } }
        let traits = await looking.result(within: timeout)?.get()
        switch TypeDetection.verdict(
            flags: opening.flags, nameSettlesType: settles, size: opening.size, by: traits ?? nil)
        {
        case .reader: return .full
        case .byFirstRead(let limit): return .afterFirstRead(limit: limit)
        case .detection:
            state.withLock { $0.counts[.sniffer, default: CallerCount()].note(.typeOnly) }
            return .typeOnly
        }
    }

    /// Calls `isSeen`, at once or soon, unless a program opens a file which is here without anybody wanting to see it:
    /// one that reads everything, or a window that finds out the type.
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

/// Openings of files that were not here, by programs of one kind.
public struct CallerCount: Codable, Hashable, Sendable {
    /// They may read what they like.
    public var served: UInt64 = 0
    /// They got the first chunk at most.
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
    /// As a sentence calls one of them.
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
