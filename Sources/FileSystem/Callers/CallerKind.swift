/// What programs are for that open files without anybody wanting to see them.
public enum CallerKind: String, CaseIterable, Codable, Sendable {
    case thumbnailer, indexer, scanner, backup
    /// Looks at the beginning of a file to say what it is.
    case sniffer
    /// Refused by a rule of the user.
    case named
}

extension CallerKind {
    /// The programs that are known without rules of the user. Names are those of executables and scripts as
    /// distributions have them; what copies files on behalf of somebody (cp, rsync, tar, file managers) is not here.
    static let table: [(kind: CallerKind, programs: [String])] = [
        (
            .thumbnailer,
            [
                "tumblerd", "*-thumbnailer", "ffmpegthumbnailer", "gnome-thumbnail-*",
                // The worker of KDE that makes previews is the program that copies files, too.
                "kioslave*:thumbnail.so", "kioworker*:thumbnail.so", "kiod*:thumbnail.so",
                // What GNOME starts in a sandbox finds its file under this name.
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
