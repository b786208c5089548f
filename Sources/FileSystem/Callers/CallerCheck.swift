import Base
import Glibc
import Posix

/// Asks who opens a file that is not here, decides by the policy, and keeps count. Any thread.
final class CallerCheck: Sendable {
    /// Finds out what a thread is part of. May block for a while; nil: that cannot be seen.
    typealias Identify = @Sendable (_ thread: pid_t) -> Caller?

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
        timeout: Duration = .seconds(1), user: UserConnection? = nil
    ) {
        self.policy = policy
        self.user = user
        self.identify = identify
        self.timeout = timeout
    }

    static func systemCaller(_ thread: pid_t) -> Caller? { Caller(of: thread) }

    /// What may be fetched for an opening by `thread` of a file that is not here.
    func access(of thread: pid_t) async -> CallerPolicy.Access {
        guard thread > 0, let caller = await caller(thread) else { return .full }
        let verdict = policy.verdict(on: caller)
        guard let kind = verdict.kind else { return verdict.access }
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

    /// Whether a program that opens a file which is here does that without anybody wanting to see it. `isSeen` is
    /// called, at once or soon, when it does not.
    func whenSeen(by thread: pid_t, _ isSeen: @escaping @Sendable () -> Void) {
        guard let executable = RunningProgram.executable(of: thread) else { return isSeen() }
        switch visibility(of: executable) {
        case .seen: isSeen()
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
        case .full, .impatient: served += 1
        case .beginning: limited += 1
        case .none: refused += 1
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
