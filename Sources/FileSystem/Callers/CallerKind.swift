/// The purpose of a program that opens files without a user's request.
public enum CallerKind: String, CaseIterable, Codable, Sendable {
    case thumbnailer, indexer, scanner, backup
    /// Reads the beginning of a file to detect its type.
    case sniffer
    /// Refused by a user's rule.
    case named
}

extension CallerKind {
    /// Programs known without user rules. The names are those of executables and scripts in distributions. Copy tools
    /// (cp, rsync, tar, file managers) are not listed.
    static let table: [(kind: CallerKind, programs: [String])] = [
        (
            .thumbnailer,
            [
                "tumblerd", "*-thumbnailer", "ffmpegthumbnailer", "gnome-thumbnail-*",
                // KDE's preview worker shares its executable with the copy worker.
                "kioslave*:thumbnail.so", "kioworker*:thumbnail.so", "kiod*:thumbnail.so",
                // GNOME's sandboxed thumbnailers open the file under this name.
                "*:gnome-desktop-file-to-thumbnail*",
            ]
        ),
        (
            .indexer,
            [
                "baloo_file", "baloo_file_extractor", "baloo_filemetadata_temp_extractor", "tracker-extract*",
                "tracker-miner-*", "localsearch*", "recollindex", "rhythmbox-metadata", "minidlnad", "rygel",
            ]
        ),
        (
            .scanner,
            [
                "clamscan", "clamdscan", "clamd", "clamonacc", "rkhunter", "chkrootkit", "maldet", "savscan",
                "savd", "aide", "samhain", "wdavdaemon", "falcon-sensor*", "ossec-syscheckd",
                "wazuh-syscheckd",
            ]
        ),
        (
            .backup,
            [
                "borg", "borgmatic", "vorta", "pika-backup", "restic", "rustic", "kopia", "duplicity",
                "duply",
                "deja-dup", "deja-dup-monitor", "duplicati*", "rdiff-backup", "rsnapshot", "backintime*",
                "bup",
                "tarsnap", "timeshift*", "snapraid", "bacula-fd", "bareos-fd", "urbackupclient*", "syncthing",
                "nextcloud", "owncloud", "dropbox", "insync", "maestral", "megasync",
            ]
        ),
        (.sniffer, ["file", "mimetype", "xdg-mime", "trid", "magika"]),
    ]
}
