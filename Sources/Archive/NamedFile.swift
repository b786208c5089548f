import Base
import ChatCore
import Cryptography
import EmbeddedCore
import Glibc
import Links
import OfficialCore

/// A CryptoFile named by a database of an archive.
struct NamedFile {
    /// The path in the archive.
    let name: String
    /// The absolute path in the archived directory, or nil for the place of its name.
    let source: String?
    /// nil if its row has no key.
    let arguments: FileArguments?

    /// The files of the shared database.
    static func all(of copy: DirectoryCopy) throws(ChatError) -> [NamedFile] {
        try copy.files().map { NamedFile(name: $0.path, source: nil, arguments: $0.arguments) }
    }

    /// The files of a profile's links.
    /// - Parameters:
    ///   - own: The profile's folder, relative to the directory.
    ///   - root: The absolute path of the folder with the databases.
    static func links(of profile: Int64, _ own: String, in root: String, key: SecretBytes) throws
        -> [NamedFile]
    {
        try links(of: profile, own, in: root, key: key, lyingIn: nil)
    }

    /// The files of an official core's profile: copies that only ChatFS has, and links.
    /// - Parameters:
    ///   - own: The profile's folder, relative to the directory.
    ///   - root: The absolute path of the folder with the databases.
    static func official(
        of profile: Int64, _ own: String, in root: String, key: SecretBytes
    ) throws -> [NamedFile] {
        let inventory = try OfficialInventory(folder: "\(root)/\(own)", key: key)
        let copies = inventory.copies.map { copy in
            NamedFile(
                name: "\(own)/\(OfficialIndexCopy.stagingFolder)/kept-\(copy.file.rawValue)",
                source: copy.source.path, arguments: copy.source.arguments)
        }
        return try copies
            + links(of: profile, own, in: root, key: key, lyingIn: inventory.stagingFolder)
    }

    private static func links(
        of profile: Int64, _ own: String, in root: String, key: SecretBytes, lyingIn staging: String?
    ) throws -> [NamedFile] {
        let links = try LinkInventory(
            path: "\(root)/\(own)/links.sqlite", key: key, stagingFolder: staging ?? "\(root)/\(own)/staging",
            profile: Profile(id: profile, displayName: ""))
        return links.items.compactMap { item in
            guard let source = item.file?.source, let name = source.path.lastPathName else { return nil }
            return NamedFile(
                name: "\(own)/staging/links-\(profile)/\(name)", source: staging == nil ? nil : source.path,
                arguments: source.arguments)
        }
    }
}
