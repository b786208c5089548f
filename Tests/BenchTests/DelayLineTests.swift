import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import chatfs_bench

/// Transfers bytes over the line. `LinePathTests` checks the times without a clock.
@Suite("Bytes on a delay line", .timeLimit(.minutes(10)))
struct DelayLineTests {
    /// The shortest possible line.
    private static let settings = LineSettings(
        delay: .microseconds(1), rate: 1_000_000_000, firstWindow: 1 << 20, maxWindow: 8 << 20)
    private static let buffer = 256 << 10

    /// A server that echoes each connection's bytes after its end.
    private static func mirror() throws -> (listener: OpenFile, port: UInt16) {
        let listener = try LocalPort.listen(buffer: buffer)
        let port = try LocalPort.number(of: listener)
        Thread.start("mirror") {
            while case let client = accept(listener.descriptor, nil, nil), client >= 0 {
                Thread.start("mirror-peer") {
                    let file = OpenFile(adopting: client)
                    guard let heard = try? file.receiveAll(limit: 64 << 20) else { return }
                    try? file.send(heard)
                    shutdown(file.descriptor, Int32(SHUT_RDWR))
                }
            }
        }
        return (listener, port)
    }

    private static func ask(_ port: UInt16, _ bytes: [UInt8]) throws(SystemError) -> [UInt8] {
        let socket = try LocalPort.connect(port, buffer: buffer)
        try socket.send(bytes)
        shutdown(socket.descriptor, Int32(SHUT_WR))
        return try socket.receiveAll(limit: 64 << 20)
    }

    @Test("arrive in order with their end in both directions", arguments: [0, 1, 65_536, 3_000_001])
    func whole(length: Int) async throws {
        let (listener, target) = try Self.mirror()
        defer { shutdown(listener.descriptor, Int32(SHUT_RDWR)) }
        let line = try DelayLine(to: target, Self.settings)
        let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 9) }
        let port = line.port
        let heard = try await ThreadPool.shared.run { () throws(SystemError) in try Self.ask(port, bytes) }
        #expect(heard == bytes && line.connections == 1)
    }

    @Test("of several connections stay separate")
    func several() async throws {
        let (listener, target) = try Self.mirror()
        defer { shutdown(listener.descriptor, Int32(SHUT_RDWR)) }
        let line = try DelayLine(to: target, Self.settings)
        let port = line.port
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in UInt8(0)..<6 {
                group.addTask {
                    let bytes = [UInt8](repeating: number, count: 200_000 + Int(number))
                    let heard = try await ThreadPool.shared.run { () throws(SystemError) in
                        try Self.ask(port, bytes)
                    }
                    #expect(heard == bytes)
                }
            }
            try await group.waitForAll()
        }
        #expect(line.connections == 6)
    }

    @Test("are lost without a server or line")
    func withoutServer() async throws {
        let (listener, target) = try Self.mirror()
        shutdown(listener.descriptor, Int32(SHUT_RDWR))
        let line = try DelayLine(to: try LocalPort.free(), Self.settings)
        let port = line.port
        let heard = try? await ThreadPool.shared.run { () throws(SystemError) in try Self.ask(port, []) }
        #expect(heard == [] || heard == nil)
        #expect(line.connections == 0)
        line.close()
        try await wait(until: "the line is gone") { !LocalPort.isOpen(port) }
        #expect(!LocalPort.isOpen(target))
    }

    @Test("of a file depend on seed and block")
    func files() throws {
        let folder = try TemporaryFolder()
        for (name, size, seed) in [
            ("a", 100_000, 1), ("b", 100_000, 1), ("c", 100_000, 2), ("d", 0, 1), ("e", 5, 1),
        ]
            as [(String, Int, UInt64)]
        {
            try FileWork.make(folder.path(name), size: size, seed: seed)
            #expect(try folder.read(name).count == size)
        }
        #expect(try folder.read("a") == folder.read("b") && folder.read("a") != folder.read("c"))
        #expect(throws: SystemError.self) { try FileWork.make(folder.path("a"), size: 1, seed: 1) }
        try FileWork.make(folder.path("long"), size: (2 << 20) + 7, seed: 3)
        let bytes = try folder.read("long")
        #expect(bytes[..<(1 << 20)] != bytes[(1 << 20)..<(2 << 20)])
        let readings = try ["a", "b", "c", "long", "d"].map { try FileWork.read(folder.path($0)) }
        #expect(readings[0].sum == readings[1].sum && readings[0].sum != readings[2].sum)
        #expect(readings[4].sum == 0 && readings[3].whole >= readings[3].first)
        try FileWork.settle(folder.path("long"))
        try FileWork.forget(folder.path("long"))
        #expect(throws: SystemError.self) { try FileWork.read(folder.path("none")) }
    }

    @Test("and names: an unexpected name is an error")
    func names() async throws {
        let folder = try TemporaryFolder()
        try await NameWork.fill(folder.path, count: 9)
        #expect(try folder.names() == (0..<9).map { "note \($0).txt" })
        #expect(try NameWork.paths(in: folder.path).count == 9)
        #expect(try NameWork.list(folder.path, expecting: 9) >= 0)
        let error = #expect(throws: BenchError.self) { try NameWork.list(folder.path, expecting: 10) }
        #expect(error?.code == .wrong && error?.sentence == "The folder shows 9 of 10 names.")
        try NameWork.list(folder.path, expectingAtLeast: 8)
        #expect(throws: BenchError.self) { try NameWork.list(folder.path, expectingAtLeast: 10) }
        #expect(throws: SystemError.self) { try NameWork.list(folder.path("none"), expecting: 0) }
    }

    @Test("figures need a running process")
    func figures() async throws {
        let own = ProcessFigures(process: getpid())
        let (now, peak) = try (own.memory(), own.peakMemory())
        #expect(now > 1_000_000 && peak >= 1_000_000)
        #expect(try own.processorTime() > 0)
        let child = try await ChildProcess.start(.init("/bin/sleep", ["1000"]))
        let sleeper = ProcessFigures(process: child.identifier)
        try await wait(until: "it sleeps") { try !sleeper.isBusy() }
        child.send(SIGKILL)
        _ = await child.ending(within: .seconds(90))
        #expect(throws: (any Error).self) { try sleeper.processorTime() }
        #expect(throws: (any Error).self) { try sleeper.memory() }
    }
}
