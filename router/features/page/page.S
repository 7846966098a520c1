// The files of the status page, as they lie beside this one.
    .section .rodata

    .macro file name, path
    .balign 16
    .globl page_\name
    .globl page_\name\()_end
page_\name:
    .incbin "\path"
page_\name\()_end:
    .byte 0
    .endm

    file html, "router/features/page/status.html"
    file css, "router/features/page/status.css"
    file svg, "router/features/page/status.svg"
    file js, "router/features/page/status.js"
    file approvals_js, "router/features/page/status-approvals.js"
    file charts_js, "router/features/page/status-charts.js"
    file figures_js, "router/features/page/status-figures.js"
    file link_js, "router/features/page/status-link.js"
    file requests_js, "router/features/page/status-requests.js"
    file view_js, "router/features/page/status-view.js"

    .section .note.GNU-stack, "", @progbits
