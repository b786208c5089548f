import FileSystem
import Namespace
import Posix
import Testing

@testable import Fuse

@Suite("Encoding of notices")
struct NoticeTests {
    /// FUSE_NOTIFY_INVAL_INODE and FUSE_NOTIFY_INVAL_ENTRY, in the reply's errno field.
    private static let (node, entry): (Int32, Int32) = (-2, -3)

    @Test("a name is sent with its NUL only")
    func names() async throws {
        let kernel = try await SimulatedKernel(NotedFiles())
        for length in [1, 8, 24, 40, 56, 255] {
            let name = EntryName([UInt8](repeating: UInt8(ascii: "x"), count: length))
            kernel.server.send(.entry(name, in: NodeID(7)))
            let told = try await kernel.reply(to: 0)
            #expect(told.code == Self.entry && told.number(at: 0, as: UInt64.self) == 7)
            #expect(told.number(at: 8, as: UInt32.self) == UInt32(length))
            #expect(Array(told.bytes[16...]) == name.bytes + [0], "of \(length) bytes")
            // The folder's listing is invalidated too.
            let folder = try await kernel.reply(to: 0)
            #expect(folder.code == Self.node && folder.number(at: 0, as: UInt64.self) == 7)
        }
    }

    @Test("inval_inode covers attributes or all bytes")
    func nodes() async throws {
        let kernel = try await SimulatedKernel(NotedFiles())
        for (notice, offset) in [
            (KernelNotice.attributes(NodeID(9)), Int64(-1)),
            (.content(NodeID(9)), 0),
        ] {
            kernel.server.send(notice)
            let told = try await kernel.reply(to: 0)
            #expect(told.code == Self.node && told.number(at: 0, as: UInt64.self) == 9)
            #expect(told.number(at: 8, as: Int64.self) == offset)
            #expect(told.number(at: 16, as: Int64.self) == 0)
        }
        #expect(!kernel.hasUnexpectedReply)
    }
}
