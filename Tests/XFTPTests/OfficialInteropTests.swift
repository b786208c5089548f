import Base
import Glibc
import Posix
import TestSupport
import Testing
import XFTPRelay

@testable import XFTP

/// The official programs, where `OFFICIAL_BIN` names the folder with `xftp` and `xftp-server`.
enum OfficialPrograms {
    static let folder: String? = getenv("OFFICIAL_BIN").map { String(cString: $0) }
    static let areMissing = folder == nil
    static let environment = ["LC_ALL": "C.UTF-8"]

    /// Runs the official client and answers what it said; its failure is the test's.
    @discardableResult
    static func client(_ arguments: [String]) async throws -> String {
        let outcome = try await Shell.run(
            (folder ?? "") + "/xftp", arguments, environment: environment, limit: .seconds(240))
        guard outcome.succeeded else {
            throw WaitedInVain("xftp \(arguments[0]) failed\n\(outcome.output)\n\(outcome.errors)")
        }
        return outcome.output
    }
}

/// The official relay as a child of the test.
final class OfficialRelay: Sendable {
    private let folder: TemporaryFolder
    private let process: RunningProcess
    let address: RelayAddress

    init(algorithm: String, password: String? = nil) async throws {
        let folder = try TemporaryFolder()
        let program = (OfficialPrograms.folder ?? "") + "/xftp-server"
        _ = try folder.makeFolder("files")
        _ = try folder.makeFolder("log")
        let environment = OfficialPrograms.environment.merging([
            "XFTP_SERVER_CFG_PATH": folder.path("config"), "XFTP_SERVER_LOG_PATH": folder.path("log"),
        ]) { $1 }
        let made = try await Shell.run(
            program,
            ["init", "-p", folder.path("files"), "-q", "10gb", "--fqdn", "localhost", "-a", algorithm],
            environment: environment)
        guard made.succeeded else { throw WaitedInVain("xftp-server init failed\n\(made.errors)") }
        let port = try Self.freePort()
        var settings = String(decoding: try folder.read("config/file-server.ini"), as: UTF8.self)
        settings = settings.replacing("port: 443", with: "port: \(port)")
        if let password {
            settings = settings.replacing("[AUTH]", with: "[AUTH]\ncreate_password: \(password)")
        }
        try folder.write(Array(settings.utf8), to: "config/file-server.ini")
        let fingerprint = String(decoding: try folder.read("config/fingerprint"), as: UTF8.self)
            .split(whereSeparator: \.isNewline).first.map(String.init)
        address = try #require(RelayAddress("xftp://\(fingerprint ?? "")@127.0.0.1:\(port)"))
        var start = ChildProcess.Settings(program, ["start"])
        start.environment = environment.mapValues { $0 }
        process = try await RunningProcess.start(start)
        self.folder = folder
        let address = address
        try await wait(until: "the official relay answers") {
            let client = XFTPClient.forTests { $0.retry.tries = 1 }
            return await code { try await client.ping(address) } == nil
        }
    }

    func stop() async throws {
        process.send(SIGINT)
        try await process.ending()
    }

    /// A port that was free a moment ago; the official relay does not take 0.
    private static func freePort() throws -> UInt16 {
        let socket = OpenFile(
            adopting: try check("make a socket") { Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) })
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        try withUnsafeMutablePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                try check("bind a socket") { bind(socket.descriptor, generic, length) }
                try check("ask for a port") { getsockname(socket.descriptor, generic, &length) }
            }
        }
        return UInt16(bigEndian: address.sin_port)
    }
}

/// All four combinations of official and own client with official and own relay, at every class of
/// the chunk plan.
@Suite(
    .serialized,
    .disabled(if: OfficialPrograms.areMissing, "OFFICIAL_BIN names no folder with xftp and xftp-server"))
struct OfficialInteropTests {
    /// 1, 2 and 3 chunks of 64 KiB; 256 KiB with and without a rest; 1 MiB; 4 MiB with rests of both kinds.
    static let sizes = [
        1, 65_500, 65_600, 190_000, 200_000, 300_000, 786_380, 1_000_000, 1_100_000, 3_145_729, 5_500_000,
        12_000_000,
    ]

    private static func exchange(with relay: RelayAddress) async throws {
        let folder = try TemporaryFolder()
        for name in ["descriptions", "received", "temporary"] { _ = try folder.makeFolder(name) }
        let client = XFTPClient.forTests { $0.retry.tries = 8 }
        for (number, size) in sizes.enumerated() {
            let bytes = someBytes(size, seed: UInt64(number))
            let name = "file-\(size).bin"
            let path = try folder.write(bytes, to: name)

            // Ours sends, both receive.
            let uploaded = try await FileUpload.run(
                PlainFileSource(OpenFile(path, flags: O_RDONLY)), fileName: name, recipients: 2,
                relays: [relay],
                client: client)
            let (header, content) = try await download(uploaded.recipients[0], client)
            #expect(content == bytes, "own client, \(size) bytes")
            #expect(header.name == name)
            let given = try folder.write(Array(uploaded.recipients[1].text.utf8), to: "rcv.xftp")
            try await OfficialPrograms.client(
                ["recv", given, folder.path("received"), "--tmp", folder.path("temporary"), "-y"])
            #expect(try folder.read("received/\(name)") == bytes, "official client, \(size) bytes")

            // Official sends, both receive.
            try await OfficialPrograms.client(
                [
                    "send", path, folder.path("descriptions"), "-n", "2", "-s", relay.textWithPassword,
                    "--tmp",
                    folder.path("temporary"),
                ])
            let made = "descriptions/\(name).xftp"
            let text = String(decoding: try folder.read("\(made)/rcv1.xftp"), as: UTF8.self)
            let description = try FileDescription(parsing: text)
            #expect(description.text == text, "printed again byte for byte")
            #expect(description.chunks.map(\.size) == uploaded.sender.chunks.map(\.size))
            #expect(try await download(description, client).1 == bytes, "official sender, \(size) bytes")
            unlink(folder.path("received/\(name)"))
            try await OfficialPrograms.client(
                [
                    "recv", folder.path("\(made)/rcv2.xftp"), folder.path("received"), "--tmp",
                    folder.path("temporary"), "-y",
                ])
            #expect(try folder.read("received/\(name)") == bytes)

            // Each deletes what the other sent.
            let sender = String(decoding: try folder.read("\(made)/snd.xftp.private"), as: UTF8.self)
            try await FileDeletion.run(FileDescription(parsing: sender), client: client)
            #expect(await code { _ = try await download(description, client) } == .relay(.authorization))
            let sendersOwn = try folder.write(Array(uploaded.sender.text.utf8), to: "snd.xftp.private")
            try await OfficialPrograms.client(["del", "-y", sendersOwn])
            let gone = await code { _ = try await download(uploaded.recipients[0], client) }
            #expect(gone == .relay(.authorization))
        }
    }

    @Test(arguments: ["ED25519", "ED448"])
    func filesGoThroughTheOfficialRelay(algorithm: String) async throws {
        let relay = try await OfficialRelay(algorithm: algorithm)
        try await Self.exchange(with: relay.address)
        try await relay.stop()
    }

    @Test(arguments: ["ed25519", "ed448"])
    func filesGoThroughOurRelay(algorithm: String) async throws {
        let relay = try LocalRelay { $0.certificate = .init(rawValue: algorithm) }
        try await Self.exchange(with: relay.address)
        await relay.relay.stop()
    }

    @Test func theOfficialRelaysPasswordIsAskedForAndGiven() async throws {
        let relay = try await OfficialRelay(algorithm: "ED25519", password: "pass-word_1")
        let client = XFTPClient.forTests()
        let source = MemorySource(bytes: someBytes(70_000))
        let refused = await code {
            _ = try await FileUpload.run(
                source, fileName: "a", recipients: 1, relays: [relay.address], client: client)
        }
        #expect(refused == .relay(.authorization))
        let known = RelayAddress(
            fingerprint: relay.address.fingerprint, hosts: relay.address.hosts, port: relay.address.port,
            password: "pass-word_1")
        let uploaded = try await FileUpload.run(
            source, fileName: "a", recipients: 1, relays: [known], client: client)
        #expect(try await download(uploaded.recipients[0], client).1 == source.bytes)
        try await relay.stop()
    }

    @Test func manyChunksAndManyRecipientsGoThroughTheOfficialRelay() async throws {
        let relay = try await OfficialRelay(algorithm: "ED25519")
        let client = XFTPClient.forTests()
        let bytes = someBytes(60_000_000)
        let uploaded = try await FileUpload.run(
            MemorySource(bytes: bytes), fileName: "big", recipients: 201, relays: [relay.address],
            client: client)
        for index in [0, 200] {
            #expect(try await download(uploaded.recipients[index], client).1 == bytes)
        }
        let short = try await FileUpload.redirect(
            to: uploaded.recipients[200], relays: [relay.address], client: client)
        #expect(try await download(short, client).1 == bytes)
        try await FileDeletion.run(uploaded.sender, client: client)
        try await relay.stop()
    }
}
