import Glibc
import Posix

/// A numeric address and port in the kernel's form.
struct SocketAddress: Sendable {
    private let bytes: [UInt8]

    init(_ address: UnsafePointer<sockaddr>, length: socklen_t) {
        bytes = Array(UnsafeRawBufferPointer(start: address, count: Int(length)))
    }

    var family: Int32 {
        bytes.withUnsafeBytes { Int32($0.loadUnaligned(as: sockaddr.self).sa_family) }
    }

    /// The port of an IPv4 or IPv6 address; both keep it big-endian at offset 2.
    var port: UInt16 { UInt16(bytes[2]) << 8 | UInt16(bytes[3]) }

    /// The host part: 4 bytes of an IPv4 address, 16 of an IPv6 address.
    var hostBytes: [UInt8] { family == AF_INET ? Array(bytes[4..<8]) : Array(bytes[8..<24]) }

    func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        bytes.withUnsafeBytes { raw in
            body(raw.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(raw.count))
        }
    }

    /// Returns the addresses of an endpoint in the order to try. `numericOnly` never uses a name server; without it the
    /// call may block for many seconds.
    /// - Throws: `.nameNotFound`; `.exhausted` without descriptors or memory.
    static func resolve(
        _ endpoint: Endpoint, numericOnly: Bool, listening: Bool = false
    ) throws(NetworkError) -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_NUMERICSERV | (numericOnly ? AI_NUMERICHOST : 0) | (listening ? AI_PASSIVE : 0)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(endpoint.host, String(endpoint.port), &hints, &list)
        // Read errno before any other call changes it.
        let systemCode = errno
        guard code == 0 else {
            throw NetworkError.lookUp(of: endpoint.host, failed: code, systemCode: systemCode)
        }
        defer { freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var entry = list
        while let current = entry {
            addresses.append(SocketAddress(current.pointee.ai_addr, length: current.pointee.ai_addrlen))
            entry = current.pointee.ai_next
        }
        return addresses
    }
}

extension Endpoint {
    /// Returns whether the host is a loopback address. Names never are.
    public var isLoopback: Bool {
        guard let address = try? SocketAddress.resolve(self, numericOnly: true).first else { return false }
        let bytes = address.hostBytes
        return bytes.count == 4 ? bytes[0] == 127 : bytes.dropLast().allSatisfy { $0 == 0 } && bytes.last == 1
    }
}

extension NetworkError {
    /// Returns the error of a failed getaddrinfo(3). Exhausted local resources are not the host's fault.
    /// - Parameters:
    ///   - code: An EAI code.
    ///   - systemCode: errno, used for EAI_SYSTEM.
    package static func lookUp(of host: String, failed code: Int32, systemCode: Int32) -> NetworkError {
        let system = code == EAI_MEMORY ? ENOMEM : code == EAI_SYSTEM ? systemCode : 0
        if exhaustedNumbers.contains(system) {
            let cause = SystemError(code: system, operation: "look up an address")
            return NetworkError(.exhausted, cause.sentence, cause: cause)
        }
        let reason =
            code == EAI_SYSTEM ? strerror(systemCode) : gai_strerror(code).map { .init(mutating: $0) }
        let words = reason.map { String(cString: $0) } ?? "error \(code)"
        return NetworkError(.nameNotFound, "No address was found for the host “\(host)”: \(words).")
    }
}
