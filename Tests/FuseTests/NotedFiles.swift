import Base
import Glibc
import Namespace
import TestSupport

@testable import FileSystem

/// Files that record requests as text and answer as the test says: constants or an error, at once or late.
final class NotedFiles: FileOperations {
    struct State {
        var calls: [String] = []
        /// Threads whose reads failed.
        var failedReads: [pid_t] = []
        var error: FileSystemError?
        /// True to answer late if possible.
        var isLate = false
        /// True to answer late only when cancelled.
        var waitsForCancellation = false
    }

    let state = Lock(State())
    let folder: TemporaryFolder
    /// Contains `.chatfs` only.
    let names: Namespace
    /// An open file of 4 bytes, `status.json`.
    let handle: FileHandle
    static let attributes = Attributes(
        id: .status, isFolder: false, permissions: 0o400, size: 7, blocks: 3,
        modified: Timestamp(seconds: 1_700_000_000), links: 1, keeping: .moment)

    init(_ source: any OpenSource = ProducedSource([1, 2, 3, 4])) throws {
        folder = try TemporaryFolder()
        names = try Namespace(path: folder.path("names.sqlite"))
        guard let node = names.node(.status) else { throw WaitedInVain("there is no status.json") }
        handle = FileHandle(node: node, source: source)
    }

    /// Removes and returns the recorded requests.
    var calls: [String] {
        state.withLock { state in
            defer { state.calls = [] }
            return state.calls
        }
    }

    private func result<Value>(_ call: String, _ value: Value) -> Result<Value, FileSystemError> {
        state.withLock { state in
            state.calls.append(call)
            return state.error.map { .failure($0) } ?? .success(value)
        }
    }

    private func answer<Value: Sendable>(_ call: String, _ value: Value) -> Answer<Value> {
        let result = result(call, value)
        let (isLate, waits) = state.withLock { ($0.isLate, $0.waitsForCancellation) }
        guard isLate else { return .now(result) }
        return .later {
            guard waits else { return result }
            while !Task.isCancelled { try? await Task.sleep(for: .milliseconds(1)) }
            return .failure(FileSystemError(EINTR))
        }
    }

    func lookup(_ name: EntryName, in folder: NodeID) -> Answer<Attributes> {
        answer("lookup \(name) in \(folder.rawValue)", Self.attributes)
    }
    func forget(_ id: NodeID, _ count: UInt64) {
        state.withLock { $0.calls.append("forget \(id.rawValue) \(count)") }
    }
    func attributes(_ id: NodeID) -> Answer<Attributes> {
        .now(result("attributes \(id.rawValue)", Self.attributes))
    }
    func access(_ id: NodeID, mask: Int32) -> Answer<Void> {
        .now(result("access \(id.rawValue) \(mask)", ()))
    }
    func statistics() -> Result<statvfs, FileSystemError> {
        var statistics = statvfs()
        (statistics.f_bsize, statistics.f_blocks, statistics.f_namemax) = (4096, 99, 255)
        return result("statistics", statistics)
    }
    func prepare(_ folder: NodeID) -> Answer<Void> { answer("prepare \(folder.rawValue)", ()) }
    func list(_ folder: NodeID, after last: NodeID?, count: Int) -> [Node]? {
        names.children(of: folder, after: last, count: count)
    }
    func attributesToKeep(of node: Node) -> Attributes? {
        var attributes = Self.attributes
        attributes.id = node.id
        return attributes
    }
    func parent(of id: NodeID) -> NodeID { .root }

    func open(_ id: NodeID, flags: Int32, by thread: pid_t) -> Answer<FileHandle> {
        answer("open \(id.rawValue) \(flags) by \(thread)", handle)
    }
    func create(
        _ name: EntryName, in folder: NodeID, flags: Int32, by thread: pid_t
    ) -> Answer<(Attributes, FileHandle)> {
        answer("create \(name) in \(folder.rawValue) \(flags) by \(thread)", (Self.attributes, handle))
    }
    func read(
        _ handle: FileHandle, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
    ) -> ReadAnswer {
        let wanted: [UInt8] = [9, 8, 7]
        switch answer("read \(handle.id.rawValue) \(offset) \(buffer.count)", wanted) {
        case .now(.failure(let error)): return .failed(error)
        case .now(.success(let bytes)):
            buffer.copyBytes(from: bytes)
            return .filled(bytes.count)
        case .later(let work):
            return .later { buffer in
                await work().map { bytes in
                    buffer.bytes.copyBytes(from: bytes)
                    return bytes.count
                }
            }
        }
    }
    func readFailed(_ handle: FileHandle, _ error: FileSystemError, by thread: pid_t) {
        state.withLock { $0.failedReads.append(thread) }
    }
    func readWasAnswered(_ handle: FileHandle) { state.withLock { $0.calls.append("answered") } }
    func write(
        _ handle: FileHandle, _ bytes: UnsafeRawBufferPointer, at offset: UInt64, by thread: pid_t
    ) -> Result<Int, FileSystemError> {
        result("write \(handle.id.rawValue) \(Array(bytes)) \(offset) by \(thread)", bytes.count)
    }
    func flush(_ handle: FileHandle, by thread: pid_t) {
        state.withLock { $0.calls.append("flush \(handle.id.rawValue) by \(thread)") }
    }
    func synchronise(_ handle: FileHandle) -> Answer<Void> {
        answer("synchronise \(handle.id.rawValue)", ())
    }
    func synchronise(folder: NodeID) -> Answer<Void> {
        answer("synchronise folder \(folder.rawValue)", ())
    }
    func release(_ handle: FileHandle) {
        state.withLock { $0.calls.append("release \(handle.id.rawValue)") }
    }

    func change(
        _ id: NodeID, _ change: AttributeChange, through handle: FileHandle?, by thread: pid_t
    ) -> Answer<Attributes> {
        let mode = change.permissions.map { String($0, radix: 8) } ?? "-"
        let size = change.size.map { "\($0)" } ?? "-"
        let time =
            switch change.modified {
            case nil: "-"
            case .now: "now"
            case .at(let time): "\(time.seconds)"
            }
        let place = handle.map { " through \($0.id.rawValue)" } ?? ""
        return answer(
            "change \(id.rawValue) \(mode) \(change.changesOwner ? "owner" : "-") \(size) \(time) by \(thread)\(place)",
            Self.attributes)
    }
    func rename(
        _ name: EntryName, in folder: NodeID, to newName: EntryName, in newFolder: NodeID, flags: UInt32,
        by thread: pid_t
    ) -> Answer<Void> {
        answer("rename \(name) in \(folder.rawValue) to \(newName) in \(newFolder.rawValue) \(flags)", ())
    }
    func removeFolder(_ name: EntryName, in folder: NodeID) -> Answer<Void> {
        answer("removeFolder \(name) in \(folder.rawValue)", ())
    }
    func makeFolder(_ name: EntryName, in folder: NodeID) -> Answer<Attributes> {
        answer("makeFolder \(name) in \(folder.rawValue)", Self.attributes)
    }

    func unlink(_ name: EntryName, in folder: NodeID, by thread: pid_t) -> Answer<Void> {
        answer("unlink \(name) in \(folder.rawValue)", ())
    }

    func extendedAttribute(_ name: String, of id: NodeID) -> Answer<[UInt8]> {
        .now(result("attribute \(name) of \(id.rawValue)", [5, 6, 7]))
    }
    func setExtendedAttribute(
        _ name: String, _ value: [UInt8], of id: NodeID, flags: Int32
    ) -> Answer<Void> { answer("set \(name) of \(id.rawValue) to \(value) \(flags)", ()) }
    func removeExtendedAttribute(_ name: String, of id: NodeID) -> Answer<Void> {
        if case .failure(let error) = result("remove \(name) of \(id.rawValue)", ()) {
            return .now(.failure(error))
        }
        return .now(.failure(FileSystemError(ENODATA)))
    }

    func tellWatchers(through send: (@Sendable (WatcherNotice) -> Void)?) {}
    func shown(_ name: EntryName, in folder: NodeID) -> Node? { names.child(name, of: folder) }
    func path(of folder: NodeID) -> [EntryName]? {
        folder == .root ? [] : names.node(folder).map { [$0.name] }
    }
    func tellKernel(through send: (@Sendable (KernelNotice) -> Void)?) {}
    func askKernelSide(through ask: @escaping @Sendable () -> KernelSide) {}
}
