import Base
import Namespace

/// A change in the tree.
public enum TreeChange: Hashable, Sendable {
    /// A chat or an entry appeared.
    case appeared(NodeID)
    /// Its attributes or state changed.
    case changed(NodeID)
    /// It vanished from this path below the mountpoint.
    case vanished(NodeID, path: String)
    /// It is not local, and relays drop it soon or just did.
    case expiring(NodeID)
    /// The core became unreachable (with a sentence that tells why) or reachable (nil).
    case core(problem: String?)
    /// Transfers were suspended (true) or resumed.
    case suspension(Bool)
    /// No shown entry changed, but the counts of unfinished entries may have.
    case counts
    /// Changes were lost: read everything again.
    case missed
}

/// Reports all tree changes to subscribed programs. Thread-safe; reporting never waits.
final class TreeAnnouncer: Sendable {
    private struct State {
        var subscriptions: [ObjectIdentifier: TreeSubscription] = [:]
        var version: UInt64 = 0
    }

    private let names: Namespace
    private let state = Lock(State())

    init(names: Namespace) { self.names = names }

    /// Grows with each change, after it is visible and before programs hear of it.
    var version: UInt64 { state.withLock { $0.version } }

    func subscribe(
        limit: Int, whenAvailable: @escaping @Sendable () -> Void
    ) -> TreeSubscription {
        let subscription = TreeSubscription(limit: limit, whenAvailable: whenAvailable) { [weak self] id in
            self?.state.withLock { $0.subscriptions[id] = nil }
        }
        state.withLock { $0.subscriptions[ObjectIdentifier(subscription)] = subscription }
        return subscription
    }

    func tell(_ change: NamespaceChange) {
        switch change {
        case .appeared(let node): tell(.appeared(node.id))
        case .changed(let node): tell(.changed(node.id))
        case .vanished(let id, let name, let folder):
            let path = names.node(folder).map(names.path) ?? ""
            tell(.vanished(id, path: path.isEmpty ? "\(name)" : "\(path)/\(name)"))
        }
    }

    func tell(_ change: TreeChange) {
        let subscriptions = state.withLock { state in
            state.version += 1
            return Array(state.subscriptions.values)
        }
        for subscription in subscriptions { subscription.add(change) }
    }
}

/// The pending changes of one program: at most `limit`, with repeated changes of an entry merged. Thread-safe.
public final class TreeSubscription: Sendable {
    private let limit: Int
    private let whenAvailable: @Sendable () -> Void
    private let whenCancelled: @Sendable (ObjectIdentifier) -> Void
    private let backlog = Lock(ChangeBacklog())

    init(
        limit: Int, whenAvailable: @escaping @Sendable () -> Void,
        whenCancelled: @escaping @Sendable (ObjectIdentifier) -> Void
    ) {
        self.limit = limit
        self.whenAvailable = whenAvailable
        self.whenCancelled = whenCancelled
    }

    /// Removes and returns the pending changes in order.
    public func take() -> [TreeChange] { backlog.withLock { $0.take() } }

    /// Ends the subscription.
    public func cancel() { whenCancelled(ObjectIdentifier(self)) }

    fileprivate func add(_ change: TreeChange) {
        if backlog.withLock({ $0.add(change, limit: limit) }) { whenAvailable() }
    }
}

/// Pending changes in order. A pure value.
struct ChangeBacklog {
    private var changes: [TreeChange] = []
    /// Nodes with a pending change.
    private var announced: Set<NodeID> = []
    private var hasCounts = false
    private var hasMissed = false

    /// Adds a change. Returns true if the backlog was empty before.
    mutating func add(_ change: TreeChange, limit: Int) -> Bool {
        guard !hasMissed else { return false }
        switch change {
        case .appeared(let id): announced.insert(id)
        case .changed(let id): guard announced.insert(id).inserted else { return false }
        case .vanished(let id, _): announced.remove(id)
        case .counts:
            guard !hasCounts else { return false }
            hasCounts = true
        case .expiring, .core, .suspension, .missed: break
        }
        let wasEmpty = changes.isEmpty
        if changes.count < limit {
            changes.append(change)
        } else {
            (changes, announced, hasMissed) = ([.missed], [], true)
        }
        return wasEmpty
    }

    mutating func take() -> [TreeChange] {
        defer { self = ChangeBacklog() }
        return changes
    }
}
