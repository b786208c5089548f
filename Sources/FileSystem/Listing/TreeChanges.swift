import Base
import Namespace

/// Something that happened in the tree.
public enum TreeChange: Hashable, Sendable {
    /// A chat or an entry is there that was not.
    case appeared(NodeID)
    /// Its attributes or its state are others.
    case changed(NodeID)
    /// It is gone from this path below the mountpoint.
    case vanished(NodeID, path: String)
    /// Its relays drop it soon, or just did, and it is not here.
    case expiring(NodeID)
    /// The core cannot be reached, with a sentence why, or can again (nil).
    case core(problem: String?)
    /// More happened than was kept: look at everything again.
    case missed
}

/// Tells programs that listen what happens in the tree, whoever did it. Any thread; telling never waits.
final class TreeAnnouncer: Sendable {
    private let names: Namespace
    private let subscriptions = Lock<[ObjectIdentifier: TreeSubscription]>([:])

    init(names: Namespace) { self.names = names }

    func subscribe(
        limit: Int, whenAvailable: @escaping @Sendable () -> Void
    ) -> TreeSubscription {
        let subscription = TreeSubscription(limit: limit, whenAvailable: whenAvailable) { [weak self] id in
            self?.subscriptions.withLock { $0[id] = nil }
        }
        subscriptions.withLock { $0[ObjectIdentifier(subscription)] = subscription }
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
        for subscription in subscriptions.withLock({ Array($0.values) }) { subscription.add(change) }
    }
}

/// What one program has not been told yet: at most `limit` changes, several of one entry as one. Any thread.
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

    /// What happened since the last call, in order.
    public func take() -> [TreeChange] { backlog.withLock { $0.take() } }

    /// Nothing is added any more.
    public func cancel() { whenCancelled(ObjectIdentifier(self)) }

    fileprivate func add(_ change: TreeChange) {
        if backlog.withLock({ $0.add(change, limit: limit) }) { whenAvailable() }
    }
}

/// Changes in the order in which they happened. A value without input and output.
struct ChangeBacklog {
    private var changes: [TreeChange] = []
    /// Nodes that will be looked at anyway.
    private var announced: Set<NodeID> = []
    private var hasMissed = false

    /// Whether there was nothing before.
    mutating func add(_ change: TreeChange, limit: Int) -> Bool {
        guard !hasMissed else { return false }
        switch change {
        case .appeared(let id): announced.insert(id)
        case .changed(let id): guard announced.insert(id).inserted else { return false }
        case .vanished(let id, _): announced.remove(id)
        case .expiring, .core, .missed: break
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
