import Base
import Glibc
import Posix
import Testing

@testable import Network

@Suite("Why a name has no address")
struct LookUpFailureTests {
    private static func failure(_ code: Int32, _ system: Int32 = 0) -> NetworkError {
        .lookUp(of: "relay.example", failed: code, systemCode: system)
    }

    @Test(
        "what this machine has run out of is not said of the host",
        arguments: [EMFILE, ENFILE, ENOBUFS, ENOMEM])
    func exhausted(system: Int32) {
        let error = Self.failure(EAI_SYSTEM, system)
        #expect(error.code == .exhausted && error.isTemporary)
        #expect(error.sentence == SystemError(code: system, operation: "look up an address").sentence)
        #expect(!error.sentence.contains("relay.example"))
        #expect(Self.failure(EAI_MEMORY).code == .exhausted)
    }

    @Test("what the name server says is said in its words, what the system says in those of the system")
    func words() {
        let unknown = Self.failure(EAI_NONAME)
        #expect(unknown.code == .nameNotFound && unknown.isTemporary)
        #expect(
            unknown.sentence
                == "No address was found for the host “relay.example”: \(String(cString: gai_strerror(EAI_NONAME)))."
        )
        // An errno of something else that failed before is not looked at.
        #expect(Self.failure(EAI_NONAME, EMFILE).code == .nameNotFound)
        let system = Self.failure(EAI_SYSTEM, EACCES)
        #expect(system.code == .nameNotFound)
        #expect(system.sentence.hasSuffix(": \(String(cString: strerror(EACCES)))."))
    }

    @Test("a name that is none is found at no server")
    func noName() {
        let error = #expect(throws: NetworkError.self) {
            try SocketAddress.resolve(Endpoint(host: "relay example", port: 1), numericOnly: true)
        }
        #expect(error?.code == .nameNotFound)
    }
}
