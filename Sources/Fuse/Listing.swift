import CFuse3
import FileSystem
import Glibc
import Namespace

/// Answers to readdir. A position is the number of the entry before it, so a listing that is read in
/// parts shows everything once, whatever arrives or goes meanwhile.
enum Listing {
    /// Positions 1 and 2 are `.` and `..`; entry n has position n + 2.
    private static let firstPosition: UInt64 = 2

    static func answer(
        _ request: consuming Request, _ folder: NodeID, _ size: Int, _ offset: off_t, withAttributes: Bool
    ) {
        let prepared = request.session.fileSystem.prepare(folder)
        request.answer(prepared) { request, _ in
            fill(request, folder, size, offset, withAttributes: withAttributes)
        }
    }

    private static func fill(
        _ request: consuming Request, _ folder: NodeID, _ size: Int, _ offset: off_t, withAttributes: Bool
    ) {
        let session = request.session
        let pointer = request.withPointer { $0 }
        session.buffers.with(size) { buffer in
            var page = Page(pointer, buffer, session, withAttributes)
            page.fill(folder, after: UInt64(clamping: offset))
            let result = fuse_reply_buf(
                pointer, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), page.used)
            if result != 0 { page.withdraw() }
        }
        request.wasAnswered()
    }

    /// One buffer full of entries.
    private struct Page {
        let pointer: fuse_req_t
        let buffer: UnsafeMutableRawBufferPointer
        let session: FuseSession
        let withAttributes: Bool
        var used = 0
        /// Drafts that the kernel knows from this page.
        private var told: [NodeID] = []

        init(
            _ pointer: fuse_req_t, _ buffer: UnsafeMutableRawBufferPointer, _ session: FuseSession,
            _ withAttributes: Bool
        ) {
            self.pointer = pointer
            self.buffer = buffer
            self.session = session
            self.withAttributes = withAttributes
        }

        mutating func fill(_ folder: NodeID, after position: UInt64) {
            if position < 1, !add([UInt8(ascii: ".")], folder, nil, position: 1) { return }
            if position < 2 {
                let parent = session.fileSystem.parent(of: folder)
                if !add([UInt8(ascii: "."), UInt8(ascii: ".")], parent, nil, position: 2) { return }
            }
            var last = position > firstPosition ? NodeID(position - firstPosition) : nil
            while true {
                let nodes = session.fileSystem.list(folder, after: last, count: 256)
                if nodes.isEmpty { return }
                for node in nodes {
                    let position = node.id.rawValue + firstPosition
                    if !add(node.name.bytes, node.id, node, position: position) { return }
                }
                last = nodes.last?.id
            }
        }

        /// Nobody got the page.
        func withdraw() {
            for id in told { session.fileSystem.forget(id, 1) }
        }

        /// False when the entry does not fit any more.
        private mutating func add(
            _ name: [UInt8], _ id: NodeID, _ node: Node?, position: UInt64
        ) -> Bool {
            guard let start = buffer.baseAddress?.advanced(by: used).assumingMemoryBound(to: CChar.self)
            else { return false }
            let room = buffer.count - used
            var kept: Attributes?
            if withAttributes, let node {
                // Gone since the names were taken.
                guard let attributes = session.fileSystem.attributesToKeep(of: node) else { return true }
                kept = attributes
            }
            let size = (name + [0]).withUnsafeBytes { bytes -> Int in
                guard let text = bytes.baseAddress?.assumingMemoryBound(to: CChar.self) else { return 0 }
                var entry = fuse_entry_param()
                if let kept {
                    entry = kept.entry(of: session.owner)
                    return fuse_add_direntry_plus(pointer, start, room, text, &entry, off_t(position))
                }
                // `.` and `..` come without a lookup: no inode number of their own in the entry.
                entry.attr.st_ino = UInt(id.rawValue)
                entry.attr.st_mode = node?.isFolder ?? true ? S_IFDIR : S_IFREG
                return withAttributes
                    ? fuse_add_direntry_plus(pointer, start, room, text, &entry, off_t(position))
                    : fuse_add_direntry(pointer, start, room, text, &entry.attr, off_t(position))
            }
            guard size <= room else {
                if let kept { session.fileSystem.forget(kept.id, 1) }
                return false
            }
            used += size
            if case .draft = node?.content, withAttributes { told.append(id) }
            return true
        }
    }
}
