import Base
import Network
import Testing

@Suite struct RequestTests {
    @Test(arguments: CertificateKind.allCases)
    func aRequestIsAnsweredAndBothSidesKnowTheSameChannel(_ kind: CertificateKind) async throws {
        let place = try Place.open(kind)
        let client = try await place.connect()
        #expect(try await client.ask(Array("ehello".utf8)) == Array("ehello".utf8))
        #expect(client.channelBinding.count == 32)
        let bindings = place.handler.bindings.withLock { $0 }
        #expect(bindings == [client.channelBinding])
        #expect(client.peerCertificates.count == 2)
        #expect(client.peerPublicKey.count == (kind == .ed25519 ? 44 : 69))
        #expect(client.isOpen)
        await place.server.stop()
    }

    @Test(arguments: [0, 1, 16_383, 16_384, 65_536, 4_194_304 + 16_400, 20 << 20])
    func bodiesOfEverySizeArriveWhole(_ size: Int) async throws {
        let place = try Place.open()
        let client = try await place.connect()
        var bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            for index in 0..<size { buffer[index] = UInt8(truncatingIfNeeded: index &* 31 &+ index >> 12) }
            count = size
        }
        if !bytes.isEmpty { bytes[0] = UInt8(ascii: "e") }
        let answer = try await client.ask(bytes)
        #expect(answer == bytes)
        await place.server.stop()
    }

    @Test func requestsShareAConnection() async throws {
        let place = try Place.open()
        let client = try await place.connect()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<150 {
                group.addTask {
                    let bytes = Array("e\(number)".utf8) + [UInt8](repeating: UInt8(number), count: 30_000)
                    let answer = try await client.ask(bytes)
                    #expect(answer == bytes)
                }
            }
            try await group.waitForAll()
        }
        await place.server.stop()
    }

    @Test func aLargeDownloadStreamsThroughSmallBuffers() async throws {
        let place = try Place.open()
        let client = try await place.connect()
        let sink = CountingSink()
        let size = 256 << 20
        try await client.send(BytesBody(count(size)), to: sink, deadline: .seconds(120))
        #expect(sink.count == size)
        await place.server.stop()
    }

    @Test func aLargeUploadStreamsToo() async throws {
        let place = try Place.open()
        let client = try await place.connect()
        let answer = CollectedBody(limit: 100)
        let body = JoinedBody([BytesBody([UInt8(ascii: "c")]), Zeros(length: 256 << 20)])
        try await client.send(body, to: answer, deadline: .seconds(120))
        #expect(answer.bytes == Array("\((256 << 20) + 1)".utf8))
        await place.server.stop()
    }
}
