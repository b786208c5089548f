import Base
import Namespace
import Thumbnails

/// Offers a chat's previews to the desktop when its folder is first listed, later previews when they arrive, and
/// withdraws those of vanished entries. Thread-safe; only `offer` waits.
final class PreviewOffers: Sendable {
    private struct State {
        /// Folders whose previews are offered.
        var folders: Set<NodeID> = []
        /// Entries whose previews cannot be decoded.
        var withdrawn: Set<NodeID> = []
        var availability: Task<Bool, Never>?
    }

    private let names: Namespace
    /// nil if there is no thumbnail cache.
    private let desktop: DesktopThumbnails?
    /// nil if no previews are offered.
    private let maker: (any ThumbnailMaking)?
    private let state = Lock(State())

    /// Maximum wait of the first listing for the links, because a file manager looks for them right after it.
    private static let timeout: Duration = .seconds(1)

    init(names: Namespace, desktop: DesktopThumbnails?, maker: (any ThumbnailMaking)?) {
        self.names = names
        self.desktop = desktop
        self.maker = maker
    }

    /// Receives all changes of names.
    var observer: NameObserver {
        NameObserver(
            gone: { [desktop] paths in desktop?.withdraw(paths.map(\.bytes)) },
            new: { [weak self] nodes in self?.offer(new: nodes) },
            changed: { [weak self] nodes in
                self?.offer(new: nodes)
                self?.letTryAgain(nodes)
            })
    }

    private func offer(new nodes: [Node]) {
        let offered = state.withLock { state in
            state.folders.isEmpty ? [] : nodes.filter { $0.hasPreview && state.folders.contains($0.folder) }
        }
        if !offered.isEmpty { offer(offered) }
    }

    /// Lets thumbnailers retry entries that may be local now.
    private func letTryAgain(_ nodes: [Node]) {
        let paths = nodes.compactMap { node -> [UInt8]? in
            guard case .item(let item) = node.content, item.file?.isHere == true,
                let folder = names.node(node.folder)
            else { return nil }
            return Self.path(of: node, in: folder)
        }
        if !paths.isEmpty { desktop?.removeFailures(paths) }
    }

    /// Returns true if the folder was not listed before.
    func isNew(_ folder: NodeID) -> Bool {
        guard desktop != nil, maker != nil, case .chat = names.node(folder)?.content else { return false }
        return !state.withLock { $0.folders.contains(folder) }
    }

    /// Offers a folder's previews and waits for the links up to the timeout.
    func offer(_ folder: NodeID) async {
        guard await isAvailable(), state.withLock({ $0.folders.insert(folder).inserted }) else { return }
        let nodes = names.children(of: folder, after: nil, count: .max).filter(\.hasPreview)
        guard !nodes.isEmpty else { return }
        let linking = Task {
            await withCheckedContinuation { continuation in
                offer(nodes) { continuation.resume() }
            }
        }
        _ = await linking.result(within: Self.timeout)
    }

    /// Withdraws the preview of an entry for good, because it cannot be decoded.
    func withdraw(_ id: NodeID) {
        state.withLock { _ = $0.withdrawn.insert(id) }
        guard let node = names.node(id), let folder = names.node(node.folder) else { return }
        desktop?.withdraw([Self.path(of: node, in: folder)])
    }

    private func offer(_ nodes: [Node], done: @escaping @Sendable () -> Void = {}) {
        guard let desktop else { return done() }
        desktop.offer(nodes.map(\.id.rawValue)[...], entry: { [self] in entry($0) }, done: done)
    }

    /// Returns the entry at the time of linking; nil if it is gone.
    private func entry(_ number: UInt64) -> ThumbnailFolder.Entry? {
        guard let node = names.node(NodeID(number)), node.hasPreview, let folder = names.node(node.folder),
            !state.withLock({ $0.withdrawn.contains(node.id) })
        else { return nil }
        return .init(path: Self.path(of: node, in: folder), number: number)
    }

    private static func path(of node: Node, in folder: Node) -> [UInt8] {
        folder.name.bytes + [UInt8(ascii: "/")] + node.name.bytes
    }

    /// Checked on first use.
    private func isAvailable() async -> Bool {
        guard let maker else { return false }
        let task = state.withLock { state in
            let known = state.availability ?? Task { await maker.isAvailable() }
            state.availability = known
            return known
        }
        return await task.value
    }
}
