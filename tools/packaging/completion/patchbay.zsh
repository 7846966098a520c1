#compdef patchbay patchbayd
# Completion of patchbay and patchbayd for zsh. Where an agent is due, the hub is asked for at most 300 ms.

# Offers the agentIds at the hub that the line, or PATCHBAY_HUB, names. Whatever is no agentId is left out.
_patchbay_agents() {
    local -a agents
    agents=(${(f)"$(timeout 0.3 patchbay $hub agents --json 2>/dev/null </dev/null | grep -o '"agentId":"[A-Za-z0-9_.:/-]*"' 2>/dev/null | cut -d '"' -f 4)"})
    compadd -a agents
}

_patchbay_client() {
    local -a commands options actions hub
    local command previous=${words[CURRENT - 1]} at arguments=0
    commands=(
@COMMANDS@
    )
    for ((at = 2; at < CURRENT; at++)); do
        case ${words[at]} in
        --hub | --token-file | --tls-ca | --tls-certificate | --tls-key | --framing)
            [[ -n $command ]] || { hub+=(${words[at]} ${(Q)~words[at + 1]}) && ((at++)) }
            ;;
        --*=*) [[ -n $command ]] || hub+=(${(Q)words[at]}) ;;
        -*) ;;
        *)
            if [[ -z $command ]]; then command=${words[at]}; else ((++arguments)); fi
            ;;
        esac
    done
    case $command in
@COMMAND_OPTIONS@
    esac
    case $command in
@COMMAND_ACTIONS@
    esac
    case $previous in
    --token-file | --tls-ca | --tls-certificate | --tls-key | --users) _files && return ;;
    --framing) compadd content-length lines && return ;;
    --priority) compadd low medium high critical && return ;;
    --sort) compadd owes name level connected && return ;;
    --agent | --target) _patchbay_agents && return ;;
    --hub) return ;;
    esac
    if [[ -z $command ]]; then
        _describe command commands
        compadd -- @FLAGS@
    elif [[ ${words[CURRENT]} == -* ]]; then
        compadd -- $options
    elif ((arguments == 0 && $#actions > 0)); then
        compadd -- $actions
    else
        case $command:$arguments in
        send:0 | pending:0) _patchbay_agents ;;
        record:0 | replay:0 | users:1) _files ;;
        esac
    fi
}

_patchbay_hub() {
    _arguments \
@HUB_OPTIONS@
        '--help[prints the options]' '--version[prints the version]'
}

case $service in
patchbayd) _patchbay_hub ;;
*) _patchbay_client ;;
esac
