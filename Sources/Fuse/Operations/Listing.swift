import CFuse3
import FileSystem
import Glibc
import Namespace

/// A READDIR or READDIRPLUS request. A position is the number of the previous entry, so concurrent changes cause
/// neither gaps nor duplicates.
struct Listing: Sendable {
    private let folder: NodeID
    private let size: Int
    private let position: UInt64
    private let withAttributes: Bool

    /// Positions 1 and 2 are `.` and `..`; entry n has position n + 2.
    private static let firstPosition: UInt64 = 2

    /// - Parameter size: Maximum size of the reply in bytes.
    init(_ folder: fuse_ino_t, _ size: Int, _ position: off_t, _ withAttributes: Bool) {
        self.folder = NodeID(folder)
        self.size = size
        self.position = UInt64(clamping: position)
        self.withAttributes = withAttributes
    }

    /// Answers once the folder is loaded.
    func begin(_ request: consuming Request) {
        let prepared = request.context.fileSystem.prepare(folder)
        request.answer(prepared) { request, _ in answer(request) }
    }

    private func answer(_ request: consuming Request) {
        let context = request.context
        let buffer = context.buffers.take(size)
        let space = UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[..<size])
        var page = Page(space, context, withAttributes)
        guard fill(&page, for: request) else {
            // Evicted since it was loaded.
            page.withdraw()
            context.buffers.give(buffer)
            return begin(request)
        }
        if !request.bytes(page.bytes) { page.withdraw() }
        context.buffers.give(buffer)
    }

    /// Returns false if the folder's entries are not all in memory.
    private func fill(_ page: inout Page, for request: borrowing Request) -> Bool {
        let files = request.context.fileSystem
        if position < 1, !page.add(".", folder, position: 1, for: request) { return true }
        if position < 2, !page.add("..", files.parent(of: folder), position: 2, for: request) { return true }
        var last = position > Self.firstPosition ? NodeID(position - Self.firstPosition) : nil
        while true {
            guard let nodes = files.list(folder, after: last, count: 256) else { return false }
            if nodes.isEmpty { return true }
            for node in nodes {
                let position = node.id.rawValue + Self.firstPosition
                if !page.add(node, position: position, for: request) { return true }
            }
            last = nodes.last?.id
        }
    }
}

/// The entries of one reply.
private struct Page {
    private let space: UnsafeMutableRawBufferPointer
    private let context: RequestContext
    private let withAttributes: Bool
    private var used = 0
    /// Nodes to which this page adds kernel references.
    private var told: [NodeID] = []

    init(_ space: UnsafeMutableRawBufferPointer, _ context: RequestContext, _ withAttributes: Bool) {
        self.space = space
        self.context = context
        self.withAttributes = withAttributes
    }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: space[..<used]) }

    /// Adds `.` or `..` without a lookup, so without an inode number of its own. Returns false if the entry does not
    /// fit.
    mutating func add(
        _ name: String, _ id: NodeID, position: UInt64, for request: borrowing Request
    ) -> Bool {
        put(Array(name.utf8), Self.nameOnly(id, isFolder: true), position, request)
    }

    /// Adds a node of the folder. Returns false if it does not fit.
    mutating func add(_ node: Node, position: UInt64, for request: borrowing Request) -> Bool {
        guard withAttributes else {
            return put(node.name.bytes, Self.nameOnly(node.id, isFolder: node.isFolder), position, request)
        }
        // nil if the node vanished since `list`.
        guard let kept = context.fileSystem.attributesToKeep(of: node) else { return true }
        guard put(node.name.bytes, kept.entry(of: context.owner), position, request) else {
            context.fileSystem.forget(kept.id, 1)
            return false
        }
        told.append(node.id)
        return true
    }

    /// Drops the kernel references of a page that was not delivered.
    func withdraw() {
        for id in told { context.fileSystem.forget(id, 1) }
    }

    private mutating func put(
        _ name: [UInt8], _ entry: fuse_entry_param, _ position: UInt64, _ request: borrowing Request
    ) -> Bool {
        let rest = UnsafeMutableRawBufferPointer(rebasing: space[used...])
        let size = request.put(
            name, entry, position: position, withAttributes: withAttributes, into: rest)
        guard size <= rest.count else { return false }
        used += size
        return true
    }

    private static func nameOnly(_ id: NodeID, isFolder: Bool) -> fuse_entry_param {
        var entry = fuse_entry_param()
        entry.attr.st_ino = UInt(id.rawValue)
        entry.attr.st_mode = isFolder ? S_IFDIR : S_IFREG
        return entry
    }
}
