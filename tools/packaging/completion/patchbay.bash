# Completion of patchbay and patchbayd for bash. Where an agent is due, the hub is asked for at most 300 ms.

_patchbay_command_options() {
    case $1 in
@COMMAND_OPTIONS@
    esac
}

_patchbay_hub_values() {
    case $1 in
@HUB_SETS@
    esac
}

# The agentIds at the hub that the line, or PATCHBAY_HUB, names. A hub that doesn't answer in time gives none.
_patchbay_agents() {
    timeout 0.3 patchbay "$@" agents --json 2>/dev/null </dev/null |
        grep -o '"agentId":"[^"]*"' 2>/dev/null | cut -d '"' -f 4
}

_patchbay() {
    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command='' hub=() at arguments=0
    COMPREPLY=()
    for ((at = 1; at < COMP_CWORD; at++)); do
        case ${COMP_WORDS[at]} in
        --hub | --token-file | --tls-ca | --tls-certificate | --tls-key | --framing)
            [ -n "$command" ] || { hub+=("${COMP_WORDS[at]}" "${COMP_WORDS[at + 1]}") && ((at++)); }
            ;;
        -*) ;;
        *)
            if [ -z "$command" ]; then command=${COMP_WORDS[at]}; else ((arguments++)); fi
            ;;
        esac
    done
    case $previous in
    --token-file | --tls-ca | --tls-certificate | --tls-key)
        mapfile -t COMPREPLY < <(compgen -f -- "$word") && return
        ;;
    --framing) mapfile -t COMPREPLY < <(compgen -W 'content-length lines' -- "$word") && return ;;
    --priority) mapfile -t COMPREPLY < <(compgen -W 'low medium high critical' -- "$word") && return ;;
    --hub) return ;;
    --agent | --target) mapfile -t COMPREPLY < <(compgen -W "$(_patchbay_agents "${hub[@]}")" -- "$word") && return ;;
    esac
    if [ -z "$command" ]; then
        mapfile -t COMPREPLY < <(compgen -W '@COMMANDS@ @FLAGS@' -- "$word")
    elif [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_patchbay_command_options "$command")" -- "$word")
    elif [ "$command" = send ] && [ "$arguments" -eq 0 ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_patchbay_agents "${hub[@]}")" -- "$word")
    fi
}

_patchbayd() {
    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} values
    COMPREPLY=()
    values=$(_patchbay_hub_values "$previous")
    case $previous in
    @HUB_FILES@ | --config) mapfile -t COMPREPLY < <(compgen -f -- "$word") && return ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "${values:-@HUB_OPTIONS@}" -- "$word")
}

complete -F _patchbay patchbay
complete -F _patchbayd patchbayd
