import Base
import Glibc
import Posix
import Testing

@testable import Network

@Suite("Failed name lookups")
struct LookUpFailureTests {
    private static func failure(_ code: Int32, _ system: Int32 = 0) -> NetworkError {
        .lookUp(of: "relay.example", failed: code, systemCode: system)
    }

    @Test(
        "exhausted local resources are not the host's fault",
        arguments: [EMFILE, ENFILE, ENOBUFS, ENOMEM])
    func exhausted(system: Int32) {
        let error = Self.failure(EAI_SYSTEM, system)
        #expect(error.code == .exhausted && error.isTemporary)
        #expect(error.sentence == SystemError(code: system, operation: "look up an address").sentence)
        #expect(!error.sentence.contains("relay.example"))
        #expect(Self.failure(EAI_MEMORY).code == .exhausted)
    }

    @Test("errors keep the words of resolver or system")
    func words() {
        let unknown = Self.failure(EAI_NONAME)
        #expect(unknown.code == .nameNotFound && unknown.isTemporary)
        #expect(
            unknown.sentence
                == "No address was found for the host “relay.example”: \(String(cString: gai_strerror(EAI_NONAME)))."
        )
        // An errno of an earlier failure is ignored.
        #expect(Self.failure(EAI_NONAME, EMFILE).code == .nameNotFound)
        let system = Self.failure(EAI_SYSTEM, EACCES)
        #expect(system.code == .nameNotFound)
        #expect(system.sentence.hasSuffix(": \(String(cString: strerror(EACCES)))."))
    }

    @Test("an invalid name is not found")
    func noName() {
        let error = #expect(throws: NetworkError.self) {
            try SocketAddress.resolve(Endpoint(host: "relay example", port: 1), numericOnly: true)
        }
        #expect(error?.code == .nameNotFound)
    }
}
