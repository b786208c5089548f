import Base
import Cryptography
import Glibc
import Network
import Posix
import TestSupport
import Testing
import XFTPRelay

@testable import XFTP

/// Our relay in this process, stopped and deleted with the last reference.
final class LocalRelay: Sendable {
    let folder: TemporaryFolder
    let relay: Relay
    let address: RelayAddress

    init(_ change: (inout RelaySettings) -> Void = { _ in }) throws {
        folder = try TemporaryFolder()
        var settings = RelaySettings(folder: folder.path("relay"))
        change(&settings)
        relay = try Relay.start(settings)
        address = relay.address
    }

    /// Returns the address with a password.
    func address(password: String) -> RelayAddress {
        RelayAddress(
            fingerprint: address.fingerprint, hosts: address.hosts, port: address.port, password: password)
    }
}

extension XFTPClient {
    /// A client that trusts every relay and retries quickly.
    static func forTests(_ change: (inout XFTPClientSettings) -> Void = { _ in }) -> XFTPClient {
        var settings = XFTPClientSettings(policy: .everything)
        settings.retry = RetryPolicy(first: .milliseconds(20), maxDelay: .milliseconds(200), tries: 5)
        settings.idleTime = .milliseconds(200)
        change(&settings)
        return XFTPClient(settings: settings)
    }
}

/// A file in memory to send.
struct MemorySource: UploadSource {
    let bytes: [UInt8]
    var size: UInt64 { UInt64(bytes.count) }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) -> Int {
        let start = min(Int(offset), bytes.count)
        let count = min(buffer.count, bytes.count - start)
        bytes.withUnsafeBytes { buffer.copyMemory(from: .init(rebasing: $0[start..<start + count])) }
        return count
    }
}

/// Pseudorandom bytes, the same each time.
func someBytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var generator = SeededGenerator(state: seed)
    return [UInt8](unsafeUninitializedCapacity: count + 8) { buffer, filled in
        for start in stride(from: 0, to: count, by: 8) {
            UnsafeMutableRawBufferPointer(buffer).storeBytes(
                of: generator.next(), toByteOffset: start, as: UInt64.self)
        }
        filled = count
    }
}

/// Downloads into memory.
func download(_ description: FileDescription, _ client: XFTPClient) async throws -> (FileHeader, [UInt8]) {
    let destination = MemoryDestination()
    let header = try await FileDownload.run(description, client: client, to: destination)
    return (header, destination.bytes)
}

/// Returns the code of the error that `body` throws.
func code(of body: () async throws -> Void) async -> XFTPErrorCode? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? XFTPError)?.code
    }
}
