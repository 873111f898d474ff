# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# A curve of placement over time: printed line by line, kept as TSV and drawn as a small SVG.

# curve_begin PREFIX
curve_begin() {
	curve_file=$1
	printf 'seconds\thot_fast_bytes\tmoved_up_bytes\tmoved_down_bytes\n' > "$curve_file.tsv"
	printf '%8s %14s %14s %14s\n' seconds 'hot on fast' 'moved up' 'moved down'
}

# curve_point SECONDS HOT UP DOWN: bytes
curve_point() {
	printf '%s\t%s\t%s\t%s\n' "$@" >> "$curve_file.tsv"
	printf '%8d %10d MiB %10d MiB %10d MiB\n' "$1" $(($2 / 1048576)) $(($3 / 1048576)) $(($4 / 1048576))
}

curve_end() {
	awk -F '\t' '
	NR > 1 { t[n] = $1; for (i = 2; i <= 4; i++) { v[n, i] = $i / 1048576; if (v[n, i] > top) top = v[n, i] } n++ }
	function line(i, colour, name, row,   k, points) {
		for (k = 0; k < n; k++)
			points = points sprintf("%.1f,%.1f ", 60 + 520 * t[k] / (t[n - 1] + 1), 250 - 220 * v[k, i] / (top + 1))
		printf "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"%s\"/>\n", colour, points
		printf "<text x=\"70\" y=\"%d\" fill=\"%s\">%s</text>\n", 24 + 16 * row, colour, name
	}
	END {
		printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"600\" height=\"290\" font-family=\"sans-serif\" font-size=\"12\">\n"
		printf "<rect width=\"600\" height=\"290\" fill=\"white\"/>\n"
		printf "<path d=\"M60 30V250H580\" fill=\"none\" stroke=\"#888\"/>\n"
		printf "<text x=\"54\" y=\"36\" text-anchor=\"end\">%d MiB</text><text x=\"54\" y=\"250\" text-anchor=\"end\">0</text>\n", top
		printf "<text x=\"580\" y=\"268\" text-anchor=\"end\">%d s</text>\n", t[n - 1]
		line(2, "#c0392b", "hot bytes on the fast node", 0)
		line(3, "#2980b9", "moved up", 1)
		line(4, "#7f8c8d", "moved down", 2)
		print "</svg>"
	}' "$curve_file.tsv" > "$curve_file.svg"
}

# moved_bytes: sum of all groups, from the JSON of tierctl list.
moved_bytes() {
	grep -oE '"(promoted|demoted)_bytes": *[0-9]+' | awk -F: '{ sum += $2 } END { printf "%d\n", sum }'
}
