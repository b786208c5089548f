import Base
import Glibc
import Posix
import TestSupport
import Testing
import XFTPRelay

@testable import XFTP

/// Runs the official client and returns its output. Its failure fails the test.
@discardableResult
private func officialClient(_ arguments: [String]) async throws -> String {
    let outcome = try await Shell.run(
        OfficialPrograms.path("xftp"), arguments, environment: OfficialPrograms.environment,
        limit: .seconds(240))
    guard outcome.succeeded else {
        throw WaitedInVain("xftp \(arguments[0]) failed\n\(outcome.output)\n\(outcome.errors)")
    }
    return outcome.output
}

/// Starts an official relay and returns its address in the client's form.
private func officialRelay(
    algorithm: String, password: String? = nil
) async throws -> (relay: OfficialRelay, address: RelayAddress) {
    let relay = try await OfficialRelay.files(
        in: TemporaryFolder(), algorithm: algorithm, password: password)
    return (relay, try #require(RelayAddress(relay.address)))
}

/// All four combinations of official and own client and relay, for every class of the chunk plan.
@Suite(
    .serialized,
    .disabled(if: OfficialPrograms.lackFiles, "OFFICIAL_BIN names no folder with xftp and xftp-server"))
struct OfficialInteropTests {
    /// 1, 2 and 3 chunks of 64 KiB; 256 KiB with and without a rest; 1 MiB; 4 MiB with both kinds of rest.
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

            // Our client sends, both receive.
            let uploaded = try await FileUpload.run(
                PlainFileSource(OpenFile(path, flags: O_RDONLY)), fileName: name, recipients: 2,
                relays: [relay],
                client: client)
            let (header, content) = try await download(uploaded.recipients[0], client)
            #expect(content == bytes, "own client, \(size) bytes")
            #expect(header.name == name)
            let given = try folder.write(Array(uploaded.recipients[1].text.utf8), to: "rcv.xftp")
            try await officialClient(
                ["recv", given, folder.path("received"), "--tmp", folder.path("temporary"), "-y"])
            #expect(try folder.read("received/\(name)") == bytes, "official client, \(size) bytes")

            // The official client sends, both receive.
            try await officialClient(
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
            try await officialClient(
                [
                    "recv", folder.path("\(made)/rcv2.xftp"), folder.path("received"), "--tmp",
                    folder.path("temporary"), "-y",
                ])
            #expect(try folder.read("received/\(name)") == bytes)

            // Each deletes the other's file.
            let sender = String(decoding: try folder.read("\(made)/snd.xftp.private"), as: UTF8.self)
            try await FileDeletion.run(FileDescription(parsing: sender), client: client)
            #expect(await code { _ = try await download(description, client) } == .relay(.authorization))
            let sendersOwn = try folder.write(Array(uploaded.sender.text.utf8), to: "snd.xftp.private")
            try await officialClient(["del", "-y", sendersOwn])
            let gone = await code { _ = try await download(uploaded.recipients[0], client) }
            #expect(gone == .relay(.authorization))
        }
    }

    @Test(arguments: ["ED25519", "ED448"])
    func filesPassTheOfficialRelay(algorithm: String) async throws {
        let (relay, address) = try await officialRelay(algorithm: algorithm)
        try await Self.exchange(with: address)
        try await relay.stop()
    }

    @Test(arguments: ["ed25519", "ed448"])
    func filesPassOurRelay(algorithm: String) async throws {
        let relay = try LocalRelay { $0.certificate = .init(rawValue: algorithm) }
        try await Self.exchange(with: relay.address)
        await relay.relay.stop()
    }

    @Test func officialRelayChecksThePassword() async throws {
        let (relay, address) = try await officialRelay(algorithm: "ED25519", password: "pass-word_1")
        let client = XFTPClient.forTests()
        let source = MemorySource(bytes: someBytes(70_000))
        let refused = await code {
            _ = try await FileUpload.run(
                source, fileName: "a", recipients: 1, relays: [address], client: client)
        }
        #expect(refused == .relay(.authorization))
        let known = RelayAddress(
            fingerprint: address.fingerprint, hosts: address.hosts, port: address.port,
            password: "pass-word_1")
        let uploaded = try await FileUpload.run(
            source, fileName: "a", recipients: 1, relays: [known], client: client)
        #expect(try await download(uploaded.recipients[0], client).1 == source.bytes)
        try await relay.stop()
    }

    @Test func manyChunksAndRecipientsPassTheOfficialRelay() async throws {
        let (relay, address) = try await officialRelay(algorithm: "ED25519")
        let client = XFTPClient.forTests()
        let bytes = someBytes(60_000_000)
        let uploaded = try await FileUpload.run(
            MemorySource(bytes: bytes), fileName: "big", recipients: 201, relays: [address],
            client: client)
        for index in [0, 200] {
            #expect(try await download(uploaded.recipients[index], client).1 == bytes)
        }
        let short = try await FileUpload.redirect(
            to: uploaded.recipients[200], relays: [address], client: client
        ).short
        #expect(try await download(short, client).1 == bytes)
        try await FileDeletion.run(uploaded.sender, client: client)
        try await relay.stop()
    }
}
