import CFuse3
import FileSystem
import Glibc
import Namespace

/// A part of a folder that the kernel wants listed. A position is the number of the entry before it, so a listing that
/// is read in parts shows everything once, whatever arrives or goes meanwhile.
struct Listing: Sendable {
    private let folder: NodeID
    private let size: Int
    private let position: UInt64
    private let withAttributes: Bool

    /// Positions 1 and 2 are `.` and `..`; entry n has position n + 2.
    private static let firstPosition: UInt64 = 2

    /// - Parameter size: bytes that the answer may have.
    init(_ folder: fuse_ino_t, _ size: Int, _ position: off_t, _ withAttributes: Bool) {
        self.folder = NodeID(folder)
        self.size = size
        self.position = UInt64(clamping: position)
        self.withAttributes = withAttributes
    }

    /// Answers when the folder is prepared.
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
            // Let go of since it was prepared.
            page.withdraw()
            context.buffers.give(buffer)
            return begin(request)
        }
        if !request.bytes(page.bytes) { page.withdraw() }
        context.buffers.give(buffer)
    }

    /// False when not all that the folder holds is in memory.
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

/// One buffer full of entries.
private struct Page {
    private let space: UnsafeMutableRawBufferPointer
    private let context: RequestContext
    private let withAttributes: Bool
    private var used = 0
    /// What the kernel knows from this page.
    private var told: [NodeID] = []

    init(_ space: UnsafeMutableRawBufferPointer, _ context: RequestContext, _ withAttributes: Bool) {
        self.space = space
        self.context = context
        self.withAttributes = withAttributes
    }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: space[..<used]) }

    /// `.` and `..` come without a lookup: no inode number of their own in the entry. False when the entry does not
    /// fit any more.
    mutating func add(
        _ name: String, _ id: NodeID, position: UInt64, for request: borrowing Request
    ) -> Bool {
        put(Array(name.utf8), Self.nameOnly(id, isFolder: true), position, request)
    }

    /// The same for a node of the folder.
    mutating func add(_ node: Node, position: UInt64, for request: borrowing Request) -> Bool {
        guard withAttributes else {
            return put(node.name.bytes, Self.nameOnly(node.id, isFolder: node.isFolder), position, request)
        }
        // Nil: gone since the names were taken.
        guard let kept = context.fileSystem.attributesToKeep(of: node) else { return true }
        guard put(node.name.bytes, kept.entry(of: context.owner), position, request) else {
            context.fileSystem.forget(kept.id, 1)
            return false
        }
        told.append(node.id)
        return true
    }

    /// Nobody got the page.
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
