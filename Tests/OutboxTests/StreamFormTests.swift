import Base
import ChatCore
import Glibc
import Posix
import TestSupport
import Testing

@testable import Outbox

/// Long files are staged in the form in which their core transfers them.
@Suite struct StreamFormTests {
    private static let form = StreamForm(
        header: { size in
            var bytes: [UInt8] = []
            bytes.append(bigEndian: size)
            return bytes + Array("a header".utf8)
        },
        length: { ($0 + 16 + 4095) / 4096 * 4096 })

    private func bench(
        step: @escaping @Sendable (OutboxStep) -> Void = { _ in }
    ) throws -> (Workbench, TemporaryFolder) {
        let folder = try TemporaryFolder()
        let core = try RecordingCore(
            stagingFolder: folder.path("staging"), maxFileSize: 4_000_000, form: Self.form)
        return (try Workbench(in: folder, core: core, step: step), folder)
    }

    /// Sizes of the files in the staging folder.
    private func staged(_ bench: Workbench) throws -> [UInt64] {
        let staging = try OpenFile(bench.core.stagingFolder, flags: O_RDONLY)
        return try PrivateFolder.names(in: staging).flatMap { folder in
            guard let inner = try? OpenFile(folder, flags: O_RDONLY, in: staging) else { return [UInt64]() }
            return try PrivateFolder.names(in: inner).compactMap {
                try? OpenFile($0, flags: O_RDONLY, in: inner).size()
            }
        }
    }

    @Test(arguments: [true, false])
    func longFileGetsHeaderAndPadding(isInOrder: Bool) async throws {
        let (bench, _) = try bench()
        let bytes = pattern(900_001)
        bench.core.close()
        let draft = try bench.outbox.create(name: name("long"), in: alice)
        if !isInOrder { try bytes.withUnsafeBytes { try draft.write($0, at: 0) } }
        for start in stride(from: 0, to: bytes.count, by: 50_000) {
            try bytes[start..<min(start + 50_000, bytes.count)].withUnsafeBytes {
                try draft.write($0, at: UInt64(start))
            }
        }
        if isInOrder {
            try await wait(until: "the copy follows") { try staged(bench).contains { $0 >= 512 << 10 } }
        }
        draft.closed(for: .writing)
        bench.beQuiet()
        let length = Self.form.length(900_001) + 16
        try await wait(until: "the file is staged") { try staged(bench) == [length] }
        bench.core.open()
        let sent = try await bench.messages(1)[0]
        #expect(sent.bytes == bytes)
        #expect(sent.message.size == 900_001)
        #expect(sent.message.source.arguments?.content == 16..<900_017)
    }

    @Test func shortFileAndOtherChatsHaveContentAlone() async throws {
        let (bench, _) = try bench()
        try bench.write(pattern(100_000), to: "short")
        try bench.write(pattern(300_000), to: "note", in: notes)
        bench.beQuiet()
        for sent in try await bench.messages(2) { #expect(sent.message.source.arguments?.content == nil) }
    }

    @Test func stagedStreamIsSentAfterCrash() async throws {
        let remains = try TemporaryFolder()
        let source = Lock<TemporaryFolder?>(nil)
        let (bench, folder) = try bench { step in
            guard step == .queued, let folder = source.withLock({ $0 }) else { return }
            do {
                for name in try folder.names() {
                    try copyFolder(folder.path(name), to: remains.path(name))
                }
            } catch {
                Issue.record(error)
            }
        }
        source.withLock { $0 = folder }
        let bytes = pattern(300_000)
        try bench.write(bytes, to: "a.bin")
        bench.beQuiet()
        _ = try await bench.messages(1)
        let core = try RecordingCore(stagingFolder: remains.path("staging"), form: Self.form)
        let next = try Workbench(in: remains, core: core)
        let sent = try await next.replayed(1)
        #expect(sent.map(\.bytes) == [bytes])
        #expect(sent[0].message.source.arguments?.content == 16..<300_016)
    }
}
