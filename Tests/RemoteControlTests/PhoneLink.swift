import Base
import Cryptography

@testable import RemoteControl

/// Parses a link like a phone: splits it, encodes it again, and verifies the signatures over that.
struct PhoneLink {
    let authority: [UInt8]
    let host: String
    let port: UInt16
    let agreementKey: [UInt8]
    let session: VerifyingKey
    let identity: VerifyingKey

    /// Returns nil if the phone would report `badInvitation`.
    init?(_ link: String) {
        guard
            let match = link.wholeMatch(
                of:
                    /xrcp:\/([^@]+)@([^:]+):(\d+)#\/\?v=([\d-]+)&app=([^&]+)&ts=(\d+)&skey=([^&]+)&idkey=([^&]+)&dh=([^&]+)&ssig=([^&]+)&idsig=([^&]+)/
            ), let authority = Base64URL.decode(match.1), let host = PercentEncoding.decode(match.2),
            let port = UInt16(match.3), let app = PercentEncoding.decode(match.5),
            // Twice, as the app does.
            PercentEncoding.decode(app.replacing("+", with: " ")) == app,
            let session = Self.key(match.7), let identity = Self.key(match.8),
            let agreement = Self.key(match.9),
            let signature = Base64URL.decode(match.10), let identitySignature = Base64URL.decode(match.11),
            let sessionKey = VerifyingKey(spki: session), let identityKey = VerifyingKey(spki: identity)
        else { return nil }
        func encoded(_ spki: [UInt8]) -> String { PercentEncoding.encode(Base64URL.encode(spki)) }
        let text =
            "xrcp:/\(Base64URL.encode(authority))@\(host):\(port)#/?v=\(match.4)"
            + "&app=\(PercentEncoding.encode(app))&ts=\(match.6)&skey=\(encoded(session))"
            + "&idkey=\(encoded(identity))&dh=\(encoded(agreement))"
        let signed = text + "&ssig=" + Base64.encode(signature)
        guard sessionKey.isValid(signature, for: Array(text.utf8)),
            identityKey.isValid(identitySignature, for: Array(signed.utf8))
        else { return nil }
        self.authority = authority
        self.host = host
        self.port = port
        agreementKey = agreement
        self.session = sessionKey
        self.identity = identityKey
    }

    private static func key(_ text: Substring) -> [UInt8]? {
        PercentEncoding.decode(text).flatMap { Base64URL.decode($0) }
    }
}
