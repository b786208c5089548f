import Testing

@testable import Fuse

@Suite struct RequestLoopTests {
    private static let (statfs, notifyReply): (UInt32, UInt32) = (17, 41)
    /// FUSE_NOTIFY_RETRIEVE, in the reply's errno field.
    private static let retrieve: Int32 = -5

    @Test func endingLoopAnswersPendingRequests() async throws {
        let kernel = try await SimulatedKernel(NotedFiles())
        kernel.server.stopAfterNext()
        #expect(try await kernel.ask(Self.statfs, node: 1, []).code == 0)
    }

    @Test func endingThreadWakesTheNext() async throws {
        let kernel = try await SimulatedKernel(NotedFiles())
        _ = try await kernel.ask(Self.statfs, node: 1, [])
        kernel.server.stopAfterNext()
        _ = try await kernel.ask(Self.statfs, node: 1, [])
        // Until the connection closes after the last thread's end.
        var asked = 0
        while let notice = try? await kernel.reply(to: 0) {
            #expect(notice.code == Self.retrieve)
            asked += 1
            _ = try? kernel.send(Self.notifyReply, node: 1, [UInt8](repeating: 0, count: 40))
        }
        #expect(asked == 2)
    }

    @Test func concurrentRequestsAreReadInParallel() async throws {
        let files = try NotedFiles()
        let kernel = try await SimulatedKernel(files)
        let all = try (0..<200).map { _ in try kernel.send(Self.statfs, node: 1, []) }
        var answered: Set<UInt64> = []
        for _ in all { answered.insert(try await kernel.nextReply().unique) }
        #expect(answered == Set(all) && !kernel.hasUnexpectedReply)
    }
}
