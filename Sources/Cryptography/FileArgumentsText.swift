import Base
import FoundationEssentials

extension FileArguments {
    /// The JSON of SimpleX, `{"fileKey":"…","fileNonce":"…"}`, in base64url with padding. Secret.
    public var text: String {
        "{\"fileKey\":\"\(Base64URL.encode(key))\",\"fileNonce\":\"\(Base64URL.encode(nonce))\"}"
    }

    /// Decodes that JSON, or a file source that contains it in `cryptoArgs` (`{"filePath":…,"cryptoArgs":{…}}`).
    /// - Throws: `.invalidArguments` for other text; the errors of `init(key:nonce:)`.
    public init(parsing text: String) throws(CryptographyError) {
        let data = Data(text.utf8.prefix(64 << 10))
        guard let found = try? JSONDecoder().decode(Written.self, from: data),
            let key = found.fileKey ?? found.cryptoArgs?.fileKey,
            let nonce = found.fileNonce ?? found.cryptoArgs?.fileNonce
        else {
            throw CryptographyError(
                .invalidArguments,
                "The arguments of an encrypted file are JSON like {\"fileKey\":\"…\",\"fileNonce\":\"…\"}.")
        }
        try self.init(key: key, nonce: nonce)
    }

    /// Decodes the two base64url texts, 44 and 32 characters.
    /// - Throws: `.invalidKey` for other lengths or characters.
    public init(key keyText: String, nonce nonceText: String) throws(CryptographyError) {
        guard let key = Base64URL.decode(keyText), key.count == StreamBox.keyLength else {
            throw CryptographyError(.invalidKey, "The file key must be 32 bytes in base64url, 44 characters.")
        }
        guard let nonce = Base64URL.decode(nonceText), nonce.count == StreamBox.nonceLength else {
            throw CryptographyError(
                .invalidKey, "The file nonce must be 24 bytes in base64url, 32 characters.")
        }
        self.init(key: key, nonce: nonce)
    }

    private struct Written: Decodable {
        var fileKey: String?
        var fileNonce: String?
        var cryptoArgs: Inner?

        struct Inner: Decodable {
            var fileKey: String
            var fileNonce: String
        }
    }
}
