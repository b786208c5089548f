import Base
import Cryptography

/// The decrypted data of a short link.
public struct LinkData: Hashable, Sendable {
    public var request: ConnectionRequest
    /// JSON of the application: a profile and a message.
    public var userData: [UInt8]

    /// The header of each part, and the maximum length of a part in bytes.
    private static let fixedSize = 2008
    private static let userSize = 13_784
    private static let signatureLength = 64

    public init(request: ConnectionRequest, userData: [UInt8]) {
        self.request = request
        self.userData = userData
    }

    /// Returns the fixed part, from which the link is derived.
    /// - Parameter root: The link's signing key. Its owner keeps it to change the user part later.
    func fixed(root: SigningKey) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(request.agentVersions)
        bytes.append(byteString: root.publicKey)
        return bytes + request.encoded
    }

    var user: [UInt8] {
        var bytes: [UInt8] = []
        if case .contact = request.kind {
            bytes.append(UInt8(ascii: "C"))
            bytes.append(request.agentVersions)
            bytes.append(bool: true)
            // No other owners and no relays.
            bytes += [0, 0]
        } else {
            bytes.append(UInt8(ascii: "I"))
            bytes.append(request.agentVersions)
        }
        if userData.count <= 254 {
            bytes.append(byteString: userData)
        } else {
            bytes.append(0xff)
            bytes.append(large: userData)
        }
        return bytes
    }

    /// Returns both parts as stored on the server, and the link's key.
    /// - Parameters:
    ///   - kind: The kind that fits the request.
    ///   - nonces: 24 random bytes for each part.
    /// - Throws: `.tooLong`.
    public func sealed(
        kind: ShortLink.Kind, root: SigningKey, nonces: (fixed: [UInt8], user: [UInt8])
    ) throws(SMPError) -> (key: [UInt8], blobs: LinkBlobs) {
        guard userData.count <= Int(UInt16.max) else { throw Self.tooLong }
        let fixed = fixed(root: root)
        let key = SHA3.hash256(fixed)
        let dataKey = LinkKeys(kind: kind, key: key).dataKey
        let blobs = LinkBlobs(
            fixed: try Self.seal(fixed, size: Self.fixedSize, root: root, key: dataKey, nonce: nonces.fixed),
            user: try Self.seal(user, size: Self.userSize, root: root, key: dataKey, nonce: nonces.user))
        return (key, blobs)
    }

    private static func seal(
        _ data: [UInt8], size: Int, root: SigningKey, key: WipedBytes, nonce: [UInt8]
    ) throws(SMPError) -> [UInt8] {
        var signed: [UInt8] = []
        signed.append(byteString: root.sign(data))
        guard let box = MessageBox.seal(signed + data, paddedTo: size, key: key, nonce: nonce) else {
            throw tooLong
        }
        return nonce + box
    }

    private static let tooLong = SMPError(
        .tooLong, "The profile is too large for a link; a smaller picture helps.")

    /// Decrypts and verifies the data of a link: it matches the link's hash, has one owner, and names the server of the
    /// link.
    /// - Throws: `.wrongLinkData` if it does not; `.unsupportedLink` for an unknown format or version.
    public init(opening blobs: LinkBlobs, link: ShortLink, senderID: [UInt8]) throws(SMPError) {
        let key = LinkKeys(kind: link.kind, key: link.key).dataKey
        let fixed = try Self.open(blobs.fixed, key: key)
        guard constantTimeEqual(SHA3.hash256(fixed.data), link.key) else { throw Self.wrong }
        let user = try Self.open(blobs.user, key: key)
        guard let (root, request) = Self.readFixed(fixed.data),
            let userData = Self.readUser(user.data, kind: request.kind)
        else {
            throw SMPError(
                .unsupportedLink,
                "The data of the link is malformed, or of a kind that ChatFS does not know.")
        }
        let isContact = request.kind == .contact
        let address = request.queues[0].address
        guard root.isValid(fixed.signature, for: fixed.data), root.isValid(user.signature, for: user.data),
            isContact == (link.kind != .invitation), address.server.isSame(as: link.server),
            address.senderID == senderID
        else { throw Self.wrong }
        try request.checkVersions()
        self.init(request: request, userData: userData)
    }

    private static let wrong = SMPError(
        .wrongLinkData, "The messaging server's data for this link was not made by the link's owner.")

    private static func open(
        _ blob: [UInt8], key: WipedBytes
    ) throws(SMPError) -> (signature: [UInt8], data: [UInt8]) {
        guard
            let plain = MessageBox.openPadded(
                Array(blob.dropFirst(MessageBox.nonceLength)), key: key,
                nonce: Array(blob.prefix(MessageBox.nonceLength)))
        else { throw wrong }
        var reader = ByteReader(plain)
        guard let signature = reader.byteString(), signature.count == signatureLength else { throw wrong }
        return (signature, reader.rest())
    }

    /// Fields of later versions follow.
    static func readFixed(_ bytes: [UInt8]) -> (root: VerifyingKey, request: ConnectionRequest)? {
        var reader = ByteReader(bytes)
        guard reader.versions() != nil, let root = reader.byteString().flatMap({ VerifyingKey(spki: $0) }),
            root.algorithm == .ed25519, let request = ConnectionRequest(from: &reader)
        else { return nil }
        return (root, request)
    }

    /// Reads the fixed part. Returns nil also for links with other owners or relays, which later versions make.
    static func readUser(_ bytes: [UInt8], kind: ConnectionRequest.Kind) -> [UInt8]? {
        var reader = ByteReader(bytes)
        let isContact = kind == .contact
        guard reader.byte() == UInt8(ascii: isContact ? "C" : "I"), reader.versions() != nil else {
            return nil
        }
        if isContact {
            guard reader.bool() != nil, reader.byte() == 0, reader.byte() == 0 else { return nil }
        }
        var ahead = reader
        if ahead.byte() == 0xff { return ahead.large() }
        return reader.byteString()
    }
}
