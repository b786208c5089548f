/// An OpenSSL algorithm, fetched once. Otherwise OpenSSL 3 searches its providers at every use, which takes as long as
/// sealing 10 KiB.
struct FetchedAlgorithm: @unchecked Sendable {
    // Safe: an EVP_MD, EVP_MAC or EVP_CIPHER is immutable and reference-counted; these are never freed.
    let pointer: OpaquePointer

    init(
        _ fetch: (OpaquePointer?, UnsafePointer<CChar>?, UnsafePointer<CChar>?) -> OpaquePointer?,
        _ name: String
    ) {
        guard let found = fetch(nil, name, nil) else { preconditionFailure("OpenSSL offers no \(name)") }
        pointer = found
    }
}
